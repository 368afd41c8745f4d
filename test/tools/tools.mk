# The programs that Moult is checked and tested with. Each is pinned in a module of its own under test/tools and built once
# per machine into the user's cache folder. The folder's name carries the version, so that every clone on a machine shares
# what was built once, and raising a version builds anew. Included by the Makefile at the top.
MOULT_CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/moult

# Each link of a large program takes gigabytes, so they depend on one another for -j to build one at a time.
.PHONY: control-plane kube-controller-manager e2e-tools e2e-kustomize e2e-kubectl e2e-flux e2e-argocd e2e-helm-controller golangci-lint controller-gen gremlins actionlint cosign crane helm hugo

# kube-apiserver and etcd. MOULT_KUBERNETES=1.34 asks for an older kube-apiserver (test/tools/kubernetes), and
# KUBEBUILDER_ASSETS, when set, is used as it is.
CONTROL_PLANE = GOFLAGS="-mod=readonly $(COMPILED)" GOWORK=off GOOS= GOARCH= $(GO) run ./test/controlplane/build
control-plane:
	@$(CONTROL_PLANE)

kube-controller-manager:
	$(call pinned-program,kube-controller-manager/,kube-controller-manager,kube-controller-manager,k8s.io/kubernetes,k8s.io/kubernetes/cmd/kube-controller-manager,5 minutes)

e2e-tools: e2e-argocd e2e-helm-controller helm
e2e-argocd: e2e-flux
	$(call pinned-program,e2e/argocd-,argocd,argocd,github.com/argoproj/argo-cd/v3,github.com/argoproj/argo-cd/v3/cmd,5 minutes)

e2e-flux: e2e-kubectl
	$(call pinned-program,e2e/kustomize-controller-,kustomize-controller,flux,github.com/fluxcd/kustomize-controller,github.com/fluxcd/kustomize-controller,2 minutes)
	@GOFLAGS= GOWORK=off $(GO) -C test/tools/flux mod download github.com/fluxcd/source-controller@$$(cat test/tools/flux/source-controller.version)

# Where one version of a module cannot be downloaded, the next one stands in go.mod.
e2e-helm-controller: e2e-argocd
	$(call pinned-program,e2e/helm-controller-,helm-controller,helm-controller,github.com/fluxcd/helm-controller,github.com/fluxcd/helm-controller,3 minutes)

e2e-kubectl: e2e-kustomize
	$(call pinned-program,e2e/kubectl-,kubectl,kubectl,k8s.io/kubernetes,k8s.io/kubernetes/cmd/kubectl,1 minute)

e2e-kustomize:
	$(call pinned-program,e2e/kustomize-,kustomize,kustomize,sigs.k8s.io/kustomize/kustomize/v5,sigs.k8s.io/kustomize/kustomize/v5,15 seconds)

# Where the tools are that make itself calls: $(call tool-path,name,folder under test/tools,module).
tool-path = $(MOULT_CACHE)/tools/$(1)-$(shell GOFLAGS=-mod=readonly GOWORK=off $(GO) -C test/tools/$(2) list -m -f '{{.Version}}' $(3))-$(shell $(GO) env GOHOSTOS)-$(shell $(GO) env GOHOSTARCH)/$(1)
GOLANGCI_LINT = $(call tool-path,golangci-lint,lint,github.com/golangci/golangci-lint/v2)
CONTROLLER_GEN = $(call tool-path,controller-gen,lint,sigs.k8s.io/controller-tools)
ACTIONLINT = $(call tool-path,actionlint,actionlint,github.com/rhysd/actionlint)
COSIGN = $(call tool-path,cosign,cosign,github.com/sigstore/cosign/v3)
CRANE = $(call tool-path,crane,release,github.com/google/go-containerregistry)
HELM = $(call tool-path,helm,helm,helm.sh/helm/v4)
HUGO = $(call tool-path,hugo,hugo,github.com/gohugoio/hugo)
GREMLINS = $(call tool-path,gremlins,mutate,github.com/go-gremlins/gremlins)

KUSTOMIZE = $(MOULT_CACHE)/e2e/kustomize-$(shell GOFLAGS=-mod=readonly GOWORK=off $(GO) -C test/tools/kustomize list -m -f '{{.Version}}' sigs.k8s.io/kustomize/kustomize/v5)-$(shell $(GO) env GOHOSTOS)-$(shell $(GO) env GOHOSTARCH)/kustomize
KUBECTL = $(MOULT_CACHE)/e2e/kubectl-$(shell GOFLAGS=-mod=readonly GOWORK=off $(GO) -C test/tools/kubectl list -m -f '{{.Version}}' k8s.io/kubernetes)-$(shell $(GO) env GOHOSTOS)-$(shell $(GO) env GOHOSTARCH)/kubectl

golangci-lint:
	$(call pinned-program,tools/golangci-lint-,golangci-lint,lint,github.com/golangci/golangci-lint/v2,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,4 minutes)

controller-gen:
	$(call pinned-program,tools/controller-gen-,controller-gen,lint,sigs.k8s.io/controller-tools,sigs.k8s.io/controller-tools/cmd/controller-gen,30 seconds)

actionlint:
	$(call pinned-program,tools/actionlint-,actionlint,actionlint,github.com/rhysd/actionlint,github.com/rhysd/actionlint/cmd/actionlint,10 seconds)

hugo:
	$(call pinned-program,tools/hugo-,hugo,hugo,github.com/gohugoio/hugo,github.com/gohugoio/hugo,3 minutes)

gremlins:
	$(call pinned-program,tools/gremlins-,gremlins,mutate,github.com/go-gremlins/gremlins,github.com/go-gremlins/gremlins/cmd/gremlins,10 seconds)

cosign:
	$(call pinned-program,tools/cosign-,cosign,cosign,github.com/sigstore/cosign/v3,github.com/sigstore/cosign/v3/cmd/cosign,5 minutes)

crane:
	$(call pinned-program,tools/crane-,crane,release,github.com/google/go-containerregistry,github.com/google/go-containerregistry/cmd/crane,20 seconds)

helm:
	$(call pinned-program,tools/helm-,helm,helm,helm.sh/helm/v4,helm.sh/helm/v4/cmd/helm,2 minutes)

# $(call pinned-program,start of the folder's name,program,folder under test/tools,module,package,rough time): silent when
# the program is there; a broken-off build leaves nothing behind. The exports take back what settings made for another
# project would change; without cgo no C compiler is needed. Programs of Kubernetes say their version, others ignore it.
define pinned-program
@set -eu; \
export GOFLAGS="-mod=readonly $(COMPILED)" GOWORK=off GOOS= GOARCH= CGO_ENABLED=0; \
version=$$($(GO) -C test/tools/$(3) list -m -f '{{.Version}}' $(4)); \
folder="$(MOULT_CACHE)/$(1)$$version-$$($(GO) env GOHOSTOS)-$$($(GO) env GOHOSTARCH)"; \
[ ! -x "$$folder/$(2)" ] || exit 0; \
echo "building $(2) $$version into $$folder (once; about $(6) on 2 cores, more while its modules download)"; \
mkdir -p "$$folder"; \
unfinished=$$(mktemp "$$folder/.unfinished.XXXXXX"); \
trap 'rm -f "$$unfinished"' EXIT; trap 'exit 1' INT TERM; \
minor=$${version#v1.}; stamp="-X k8s.io/component-base/version"; \
$(GO) -C test/tools/$(3) build -buildvcs=false -o "$$unfinished" \
	-ldflags "-s -w $$stamp.gitVersion=$$version $$stamp.gitMajor=1 $$stamp.gitMinor=$${minor%%.*}" $(5); \
chmod 755 "$$unfinished"; \
mv "$$unfinished" "$$folder/$(2)"
endef
