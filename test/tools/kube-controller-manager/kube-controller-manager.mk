# The real kube-controller-manager, for its garbage collector (test/collector) and its storage version migrator (test/bench):
# built once from its pinned module into the user's cache folder, whose name carries the version.
# Included by the Makefile at the top.
GO ?= go
CONTROLLER_MANAGER_CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/moult/kube-controller-manager

.PHONY: kube-controller-manager clean-kube-controller-manager

# A broken-off build leaves nothing behind. The exports take back what settings made for another project would change.
kube-controller-manager:
	@set -eu; export GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= CGO_ENABLED=0; \
	module=test/tools/kube-controller-manager; \
	version=$$($(GO) -C $$module list -m -f '{{.Version}}' k8s.io/kubernetes); \
	folder="$(CONTROLLER_MANAGER_CACHE)/$$version-$$($(GO) env GOOS)-$$($(GO) env GOARCH)"; \
	[ ! -x "$$folder/kube-controller-manager" ] || exit 0; \
	echo "building kube-controller-manager $$version into $$folder (once; about 5 minutes on 2 cores)"; \
	mkdir -p "$$folder"; \
	unfinished=$$(mktemp "$$folder/.unfinished.XXXXXX"); \
	trap 'rm -f "$$unfinished"' EXIT; trap 'exit 1' INT TERM; \
	minor=$${version#v1.}; stamp="-X k8s.io/component-base/version"; \
	$(GO) -C $$module build -buildvcs=false -o "$$unfinished" \
		-ldflags "$$stamp.gitVersion=$$version $$stamp.gitMajor=1 $$stamp.gitMinor=$${minor%%.*}" k8s.io/kubernetes/cmd/kube-controller-manager; \
	chmod 755 "$$unfinished"; \
	mv "$$unfinished" "$$folder/kube-controller-manager"

clean-kube-controller-manager:
	rm -rf "$(CONTROLLER_MANAGER_CACHE)"
