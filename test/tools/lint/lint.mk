# golangci-lint and controller-gen, built once from their pinned module (test/tools/lint) into the user's cache folder.
# The folder's name carries the version, so that every clone on a machine shares what was built once, and raising a
# version in go.mod builds anew.
# The Makefile at the top includes this.
TOOLS_CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/moult/tools

# $(call tool-path,name,module): where that version of the tool lies.
tool-path = $(TOOLS_CACHE)/$(1)-$(call tool-version,$(2))-$(shell go env GOHOSTOS)-$(shell go env GOHOSTARCH)/$(1)
tool-version = $(shell GOFLAGS=-mod=readonly GOWORK=off go -C test/tools/lint list -m -f '{{.Version}}' $(1))

# $(call tool-build,path,package,rough time): silent when the tool is there; a broken-off build leaves nothing behind.
# The exports take back what settings made for another project would change; without cgo no C compiler is needed.
define tool-build
@[ -x "$(1)" ] || { set -eu; \
export GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= CGO_ENABLED=0; \
echo "building $(notdir $(1)) into $(dir $(1)) (once; about $(3) on 2 cores, more while its modules download)"; \
mkdir -p "$(dir $(1))"; \
unfinished=$$(mktemp "$(dir $(1)).unfinished.XXXXXX"); \
trap 'rm -f "$$unfinished"' EXIT; trap 'exit 1' INT TERM; \
log=$$(go -C test/tools/lint build -o "$$unfinished" $(2) 2>&1) || { echo "$$log" >&2; exit 1; }; \
chmod 755 "$$unfinished"; \
mv "$$unfinished" "$(1)"; }
endef

GOLANGCI_LINT = $(call tool-path,golangci-lint,github.com/golangci/golangci-lint/v2)
CONTROLLER_GEN = $(call tool-path,controller-gen,sigs.k8s.io/controller-tools)

.PHONY: golangci-lint controller-gen clean-tools
golangci-lint:
	$(call tool-build,$(GOLANGCI_LINT),github.com/golangci/golangci-lint/v2/cmd/golangci-lint,4 minutes)

controller-gen:
	$(call tool-build,$(CONTROLLER_GEN),sigs.k8s.io/controller-tools/cmd/controller-gen,30 seconds)

clean-tools: ## remove the built linter and generator from the cache folder
	@rm -rf "$(TOOLS_CACHE)"
