# Needs any Go since 1.21, make and git, nothing else: Go fetches the toolchain that is named here, and every tool is pinned
# in a module under test/tools and built once. `make` alone lists what there is to do.

GO ?= go
# Kubernetes 1.37 and its libraries need Go 1.27. An environment that pins an older Go would refuse to build them.
export GOTOOLCHAIN = go1.27.3
.DEFAULT_GOAL := help

# The race detector needs a C compiler. Without one the tests run all the same, and say so. All else is built without cgo, so
# that it is built once.
CGO = $(filter 1,$(shell $(GO) env CGO_ENABLED))
RACE = $(if $(CGO),-race)
WITH_CGO = $(if $(CGO),CGO_ENABLED=1)
export CGO_ENABLED = 0
# Without the paths of this clone in them, compiled packages serve every clone on the machine, and the tools. What a debugger
# reads is a sixth of a compiler's work; `go build` by itself writes it.
COMPILED = -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(COMPILED) $(GOFLAGS)
# A fifth of what a compiler does is to collect garbage. What shows or measures Moult itself takes this back.
export GOGC ?= 400
TEST_TIMEOUT = 15m

# The modules that hold Go code of ours. Those that stand on Argo CD, ARGOCD, have a thousand packages that the others do not:
# `make test-full PARTS=health` lints them, and .ci/run where a change touches them.
LINTED = . test/bench test/chart test/e2e test/kubevirt test/page test/tools/release
ARGOCD = health/argocd test/lua

# What `make generate` writes, for `make verify` to compare.
GENERATED = 'api/*/zz_generated.deepcopy.go' 'clusters/base/crds/moult.dev_*.yaml' 'lua/*/*/actions/argocd-cm.yaml' \
	'clusters/chart/templates/generated/*.yaml' clusters/chart/README.md docs/commands docs/site/assets/pictures

include test/tools/tools.mk test/full.mk

.PHONY: help build demo test test-fast test-full test-e2e test-kubernetes mutate bench fuzz lint generate verify image release publish site clean

help: ## list what there is to do
	@echo "Moult: drop an old version from a CRD without losing an object. Start with \`make demo\`."
	@echo
	@awk -F ':[^#]*## ' '/^[a-z0-9-]+:[^#]*## / && $$1 != "help" { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build moult-controller and moult into bin/
	@$(GO) build -o bin/ ./cmd/...
	@echo "built bin/moult-controller and bin/moult"

# It can be shown on any kube-apiserver that Moult supports, so programs that are there are taken, else setup-envtest is
# asked for some, and only then are they built, for minutes. MOULT_ENVTEST_INDEX names another index for setup-envtest;
# with ENVTEST_INSTALLED_ONLY=1 nothing is fetched. Tests take none of this: they check what is pinned.
demo: ## see Moult at work on a real control plane (OBJECTS=5000, KEEP=1, ARGS=...)
	@[ -x bin/demo ] || echo "building moult-controller and the demo (a minute or two, once)"
	@$(GO) build -o bin/ ./cmd/moult-controller ./test/demo
	@programs=$$($(CONTROL_PLANE) -ready) && export KUBEBUILDER_ASSETS="$$programs" MOULT_KUBERNETES= && \
	exec env -u GOGC ./bin/demo $(if $(OBJECTS),--objects $(OBJECTS)) $(if $(KEEP),--keep) $(ARGS)

SUITE = $(GO) run ./test/suite $(if $(RACE),,-race=false)
test: control-plane ## test Moult against a real kube-apiserver and etcd (TEST_FLAGS="-run Lags -v")
	@$(if $(RACE),,echo "no C compiler: the tests run without the race detector")
	@$(SUITE) -- $(TEST_FLAGS)

test-fast: ## test what needs no server, in under a minute
	@$(SUITE) -fast -- $(TEST_FLAGS)

# The first of the commits that a push brings, less one. A server that knows it says so.
BASE ?= $(shell git rev-list --max-count=11 HEAD | tail -n 1)

.PHONY: test-commits touched
# The parts of test-full that take minutes at most and that the commits after BASE may concern, for .ci/run.
touched:
	@$(GO) run ./test/suite -touched $(BASE)

# Each commit after BASE compiles, tests and all, so that git bisect works.
test-commits:
	@set -eu; tree=$$(mktemp -d); trap 'git worktree remove --force "$$tree"' EXIT; git worktree add --quiet --detach "$$tree" HEAD; \
	for commit in $$(git rev-list --reverse --no-merges "$(BASE)..HEAD"); do \
		git -C "$$tree" checkout --quiet "$$commit"; \
		$(GO) -C "$$tree" vet ./... || { echo "does not compile: $$(git log -1 --format='%h %s' "$$commit")" >&2; exit 1; }; \
		git log -1 --format='compiles: %h %s' "$$commit"; \
	done

# A mode of test/bench, or one that a package of Moult has: rehearse, backup, preview.
SCENARIO ?= table
BENCH_rehearse = $(GO) test ./cmd/moult/rehearse -run '^$$' -bench . -benchtime 3x
BENCH_backup = $(GO) test ./cmd/moult/restore -run '^$$' -bench . -benchtime 1x
BENCH_preview = CLONES="$(abspath $(CLONES))" $(GO) test ./cmd/moult/preview/repositories -run '^$$' -bench . -benchtime 3x -timeout 1h
bench: control-plane $(if $(filter table lag,$(SCENARIO)),kube-controller-manager) ## measure (SCENARIO=table, lag, memory, restart, gates, managers, survivors, rehearse, backup, preview; ARGS=--short)
	@$(if $(BENCH_$(SCENARIO)),unset GOGC; $(BENCH_$(SCENARIO)) $(ARGS),$(GO) -C test/bench build -o $(CURDIR)/bin/bench . && exec env -u GOGC ./bin/bench $(SCENARIO) $(ARGS))

WORKERS = 1
mutate: gremlins ## count how many small changes of PACKAGE=policies/plan its own tests notice (WORKERS=2)
	@test/tools/mutate/mutate.sh $(GREMLINS) "$(PACKAGE)" $(WORKERS)

FUZZ_TIME = 60s
fuzz: ## feed arbitrary content to all that reads what others have written, FUZZ_TIME each
	@git grep '^func Fuzz' -- clusters policies test/lua test/conformance | sed -E 's#^(.*)/[^/]*:func (Fuzz[A-Za-z]*).*#\1 \2#' | while read -r dir target; do \
		module=.; [ "$$dir" != test/lua ] || { module=test/lua; dir=.; }; \
		$(GO) -C "$$module" test "./$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) || exit 1; \
	done

lint: golangci-lint actionlint ## check the code and the workflows (LINTED=folder); .golangci.yml says for what
	@$(ACTIONLINT) .github/workflows/*.yml examples/ci/github/workflow.yml examples/ci/github/snapshot.yml
	@found=0; for module in $(LINTED); do (cd $$module && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml ./...) || found=1; done; exit $$found

generate: controller-gen ## write the generated files anew
	@$(CONTROLLER_GEN) object paths=./api/...
	@$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=clusters/base/crds
	@$(GO) generate ./lua ./clusters/chart ./cmd/moult ./test/docs

verify: generate ## fail if a generated file differs from what is committed
	@git diff --exit-code -- $(GENERATED) || { echo "the generated files have changed: commit what \`make generate\` wrote" >&2; exit 1; }
	@new=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	[ -z "$$new" ] || { echo "generated but not committed: $$new" >&2; exit 1; }

IMAGE_PLATFORMS ?= linux/amd64,linux/arm64
RELEASE = GOWORK=off $(GO) -C test/tools/release run . -root $(CURDIR) -platforms $(IMAGE_PLATFORMS)
image: # the container image and its SBOM into bin/image, without a daemon
	@$(RELEASE) -out $(CURDIR)/bin/image

# Two runs at one commit write the same bytes. The work tree has to be clean.
release: e2e-kustomize ## write every file of a release into dist/ (VERSION=v0.1.0)
	@$(RELEASE) -out $(CURDIR)/dist -release "$(VERSION)" -kustomize $(KUSTOMIZE) $(ARGS)

publish: crane helm cosign # push the image and the chart of dist/ and sign all (VERSION=v0.1.0); the release workflow does it
	@CRANE=$(CRANE) HELM=$(HELM) COSIGN=$(COSIGN) test/tools/release/publish.sh "$(VERSION)" dist

site: hugo # README and docs as pages, into bin/site
	@$(HUGO) build --source docs/site --destination $(CURDIR)/bin/site --cleanDestinationDir --noBuildLock --panicOnWarning --quiet
	@echo "built bin/site; any web server can serve it"

clean: ## remove bin/ and everything that was built into the cache folder
	@$(CONTROL_PLANE) -clean
	@rm -rf bin dist "$(MOULT_CACHE)/tools" "$(MOULT_CACHE)/e2e" "$(MOULT_CACHE)/kube-controller-manager"
