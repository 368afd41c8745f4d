# The tools the end-to-end tests run for real, each built from its own pinned
# module under test/tools into the user's cache folder. The folder's name holds
# the version, so a second clone builds nothing and an upgrade builds once.
# Included by the Makefile at the top; works alone too: make -f test/e2e/e2e.mk e2e-tools

E2E_CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/moult/e2e

.PHONY: e2e-tools e2e-kustomize e2e-kubectl e2e-flux e2e-argocd clean-e2e-tools stories label-survival

e2e-tools: e2e-argocd

# They depend on one another only so that -j never links two of them at once:
# each link alone takes gigabytes.
e2e-argocd: e2e-flux
e2e-flux: e2e-kubectl
e2e-kubectl: e2e-kustomize

e2e-kustomize:
	$(call e2e-build,kustomize,sigs.k8s.io/kustomize/kustomize/v5,sigs.k8s.io/kustomize/kustomize/v5,kustomize,15 seconds)

e2e-kubectl:
	$(call e2e-build,kubectl,k8s.io/kubernetes,k8s.io/kubernetes/cmd/kubectl,kubectl,1 minute)

e2e-flux:
	$(call e2e-build,flux,github.com/fluxcd/kustomize-controller,github.com/fluxcd/kustomize-controller,kustomize-controller,2 minutes)
	@GOFLAGS= GOWORK=off go -C test/tools/flux mod download github.com/fluxcd/source-controller@$$(cat test/tools/flux/source-controller.version)

e2e-argocd:
	$(call e2e-build,argocd,github.com/argoproj/argo-cd/v3,github.com/argoproj/argo-cd/v3/cmd,argocd,5 minutes)

clean-e2e-tools:
	rm -rf "$(E2E_CACHE)"

# Run every time, because go test does not see that it depends on moult-controller
# and the example repositories; and verbose, because the log is what there is to see.
test-e2e: TEST_FLAGS += -v -count=1

# One package after the other, so that every line is told when it happens.
stories: control-plane e2e-tools ## watch the stories of examples/argocd and examples/flux
	@go -C test/e2e test -timeout 30m -p 1 -v -count=1 ./stories/...

# What the tests have seen, as a page.
label-survival: control-plane e2e-tools ## write docs/label-survival.md anew, from what Argo CD, Flux and kubectl do
	@go -C test/e2e test -timeout 30m -v -count=1 ./survival -update

# $(call e2e-build,folder under test/tools,module,package,binary,rough time):
# silent when the binary is there; a broken-off build leaves nothing behind. The
# exports take back what settings made for another project would change; without
# cgo no C compiler is needed, as in upstream's own images.
define e2e-build
@set -eu; \
export GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= CGO_ENABLED=0; \
version=$$(go -C test/tools/$(1) list -m -f '{{.Version}}' $(2)); \
folder="$(E2E_CACHE)/$(4)-$$version-$$(go env GOOS)-$$(go env GOARCH)"; \
if [ -x "$$folder/$(4)" ]; then exit 0; fi; \
echo "building $(4) $$version into $$folder (once; about $(5) on 2 cores, more while its modules download)"; \
mkdir -p "$$folder"; \
unfinished=$$(mktemp "$$folder/.unfinished.XXXXXX"); \
trap 'rm -f "$$unfinished"' EXIT; trap 'exit 1' INT TERM; \
go -C test/tools/$(1) build -o "$$unfinished" $(3); \
chmod 755 "$$unfinished"; \
mv "$$unfinished" "$$folder/$(4)"
endef
