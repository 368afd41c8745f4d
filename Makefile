# Needs Go, make and git, nothing else: every other tool is pinned in a module under test/tools and built once.
# `make` alone lists what there is to do.

GO ?= go
.DEFAULT_GOAL := help

# The race detector needs a C compiler. Without one the tests run all the same, and say so.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
# One package's tests. Those against the real control plane take a minute or two.
TEST_TIMEOUT = 15m

# The modules that hold Go code of ours.
LINTED = . health/argocd test/bench test/e2e test/kubevirt test/lua test/page test/tools/image

# What `make generate` writes, for `make verify` to compare.
GENERATED = 'api/*/zz_generated.deepcopy.go' 'clusters/base/crds/moult.dev_*.yaml' 'lua/*/*/actions/argocd-cm.yaml'

.PHONY: help build test test-e2e lint generate fuzz verify clean

help: ## list what there is to do
	@echo "Moult: drop an old version from a CRD without losing an object. Start with \`make demo\`."
	@echo
	@awk -F ':[^#]*## ' '/^[a-z0-9-]+:[^#]*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build moult-controller and moult into bin/
	@CGO_ENABLED=0 $(GO) build -o bin/ ./cmd/...
	@echo "built bin/moult-controller and bin/moult"

test: test-main test-kills test-health test-bench test-kubevirt ## run all tests against a real kube-apiserver and etcd

.PHONY: test-main
test-main: control-plane
	@$(if $(RACE),,echo "no C compiler: the tests run without the race detector")
	@echo "testing; the first run compiles for a few minutes, and every package tells when it is done"
	@$(GO) test $(RACE) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $$($(GO) list ./... | grep -v -e '/test/faults$$' -e '/test/collector$$' -e '/examples/ci$$') # test-kills plays a part of the first, test-collector and test-ci are the others

.PHONY: test-ci
test-ci: ## test the scripts of examples/ci against GitHub and GitLab played on loopback (needs curl and jq)
	@$(GO) test -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./examples/ci

test-e2e: control-plane e2e-tools test-collector ## run the end-to-end tests with the real Argo CD, Flux and garbage collector
	@$(GO) -C test/e2e test -timeout 30m $(TEST_FLAGS) ./...

lint: golangci-lint ## check the code; .golangci.yml says for what
	@found=0; for module in $(LINTED); do (cd $$module && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml ./...) || found=1; done; exit $$found

# The first of the commits that a push brings, less one. A server that knows it says so.
BASE ?= $(shell git rev-list --max-count=11 HEAD | tail -n 1)

.PHONY: test-commits
test-commits: ## check that each commit after BASE compiles, tests and all, so that git bisect works (default: the last ten)
	@set -eu; tree=$$(mktemp -d); trap 'git worktree remove --force "$$tree"' EXIT; git worktree add --quiet --detach "$$tree" HEAD; \
	for commit in $$(git rev-list --reverse --no-merges "$(BASE)..HEAD"); do \
		git -C "$$tree" checkout --quiet "$$commit"; \
		$(GO) -C "$$tree" vet ./... || { echo "does not compile: $$(git log -1 --format='%h %s' "$$commit")" >&2; exit 1; }; \
		git log -1 --format='compiles: %h %s' "$$commit"; \
	done

generate: controller-gen ## write the generated files anew
	@$(CONTROLLER_GEN) object paths=./api/...
	@$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=clusters/base/crds
	@$(GO) generate ./lua

fuzz: ## feed arbitrary content to all that reads what others have written, FUZZ_TIME each
	@git grep '^func Fuzz' -- clusters policies | sed -E 's#^(.*)/[^/]*:func (Fuzz[A-Za-z]*).*#\1 \2#' | while read -r dir target; do \
		$(GO) test "./$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) || exit 1; \
	done

verify: generate ## fail if a generated file differs from what is committed
	@git diff --exit-code -- $(GENERATED) || { echo "the generated files have changed: commit what \`make generate\` wrote" >&2; exit 1; }
	@new=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	[ -z "$$new" ] || { echo "generated but not committed: $$new" >&2; exit 1; }

clean: clean-control-plane clean-tools clean-e2e-tools clean-kube-controller-manager ## remove bin/ and everything that was built into the cache folder
	@rm -rf bin

include test/demo/demo.mk test/controlplane/controlplane.mk test/controlplane/kubernetes.mk test/tools/lint/lint.mk test/lua/lua.mk test/e2e/e2e.mk test/faults/faults.mk test/simulation/simulation.mk test/bench/bench.mk test/collector/collector.mk test/tools/kube-controller-manager/kube-controller-manager.mk test/kubevirt/kubevirt.mk test/operators/operators.mk test/realcrds/realcrds.mk test/repositories/repositories.mk test/tools/image/image.mk test/page/page.mk
