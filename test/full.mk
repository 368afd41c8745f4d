# The long proofs: `make test-full` runs them one after the other, PARTS="faults e2e" some of them. Each part is a target
# full-<part>, and full.sh says what each is for. Included by the Makefile at the top.
PARTS ?= long race kubernetes faults simulation collector e2e kubevirt operators health bench site page chart newcomer docs scripts image

.PHONY: full-long full-race full-kubernetes full-faults full-simulation full-collector full-e2e full-kubevirt full-operators full-health full-bench full-site full-page full-chart full-newcomer full-docs full-scripts full-image

test-full: ## run every long proof; hours (PARTS="faults e2e" runs some; CONTRIBUTING.md says when)
	@MAKE="$(MAKE)" test/full.sh $(PARTS)

# What `make test` leaves out because it costs most.
full-long: control-plane
	@$(SUITE) -long -- $(TEST_FLAGS)

full-race: control-plane
	@$(SUITE) -full -- -count=1 $(TEST_FLAGS)

test-kubernetes: ## test Moult on every Kubernetes it supports, or on K8S=1.34; each is built once, for minutes
	@minors=$$($(CONTROL_PLANE) -minors) || exit 1; \
	for minor in $(or $(K8S),$$minors); do \
		export MOULT_KUBERNETES=$$minor; \
		$(CONTROL_PLANE) || exit 1; \
		echo "testing on Kubernetes $$minor"; \
		$(SUITE) -race=false -servers -- $(TEST_FLAGS) || { echo "failed on Kubernetes $$minor" >&2; exit 1; }; \
	done
full-kubernetes: test-kubernetes

# FAULTS_FLAGS adds to the tests' own flags: "-faults.kills=50 -faults.seed=0" for a night, "-faults.seed=7 -run TestEveryFault/429".
full-faults: control-plane
	@$(WITH_CGO) $(GO) test $(RACE) -timeout 120m ./test/faults -faults.full $(FAULTS_FLAGS)

# `make test` plays a few hundred schedules; CHECKS=100000 is for a night.
CHECKS ?= 20000
full-simulation:
	@$(GO) test -count=1 -timeout 12h -v ./test/simulation -rapid.checks=$(CHECKS) -rapid.shrinktime=10s $(ARGS)

full-collector: control-plane kube-controller-manager
	@$(WITH_CGO) $(GO) test $(RACE) -count=1 -timeout 30m -v ./test/collector $(COLLECTOR_FLAGS)

# Verbose, because the log is what there is to see. E2E=./stories/... runs some; -p 1 shows every line when it happens.
E2E ?= ./...
test-e2e: control-plane kube-controller-manager e2e-tools ## run the end-to-end tests with the real Argo CD and Flux (E2E=./stories/... TEST_FLAGS="-p 1")
	@$(GO) -C test/e2e test -timeout 30m -v -count=1 $(TEST_FLAGS) $(E2E)
full-e2e: test-e2e

full-kubevirt: control-plane
	@$(WITH_CGO) $(GO) -C test/kubevirt test $(RACE) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...

full-operators:
	@$(MAKE) --no-print-directory lint LINTED=test/operators
	@$(GO) -C test/operators test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...

full-health:
	@$(MAKE) --no-print-directory lint LINTED="$(ARGOCD)"
	@$(GO) -C health/argocd test ./...
	@$(GO) -C test/lua test ./...

full-bench: control-plane
	@$(WITH_CGO) $(GO) -C test/bench test $(RACE) $(TEST_FLAGS) ./...

full-site: site
	@$(GO) test -count=1 $(TEST_FLAGS) ./test/site

# CHROMIUM names a browser that is not in the PATH.
full-page: site
	@$(GO) -C test/page test -count=1 -timeout 30m $(TEST_FLAGS) ./... $(PAGE_FLAGS)

full-chart: control-plane
	@$(WITH_CGO) $(GO) -C test/chart test $(RACE) -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...

full-newcomer: control-plane e2e-kubectl
	@MOULT_KUBECTL=$(KUBECTL) $(GO) test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./test/newcomer

# Each guide of docs/guides is played; TEST_FLAGS="-run Guides/gate-waits -v" plays one.
.PHONY: test-docs
test-docs full-docs: e2e-kubectl control-plane
	@MOULT_KUBECTL=$(KUBECTL) $(GO) test -count=1 -timeout 30m $(TEST_FLAGS) ./test/docs ./test/guides

full-scripts:
	@$(GO) test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./examples/ci

# For the machine's own platform, because the test runs what it finds in the image. Builds cosign, Helm and krew once, for minutes.
full-image: control-plane
	@GOWORK=off $(GO) -C test/tools/release test -timeout 60m ./...

# What is written by hand from time to time, and what needs more than the package registries of Go.
.PHONY: label-survival real histories picture comment-pictures

label-survival: control-plane e2e-tools # docs/label-survival.md, from what Argo CD, Flux and kubectl do
	@$(GO) -C test/e2e test -timeout 30m -v -count=1 ./survival -update

real: control-plane # previews of the releases of real operators, judged by an API server; half a gigabyte of modules
	@$(GO) run ./test/realcrds $(ARGS)

CLONES ?= clones
histories: control-plane # the histories of real operators in CLONES, a folder of bare clones, judged by an API server
	@$(GO) run ./test/realcrds -histories $(CLONES) -page docs/versions.md $(ARGS)

# The picture of a preview in README.md: of a pull request of test/golden, or of a page.
PULL ?= blocked-by-stored-versions
PAGE ?=
picture:
	@pages=$$(mktemp -d) && trap 'rm -rf "$$pages"' EXIT && page='$(abspath $(PAGE))' && \
	if [ -z "$$page" ]; then \
		$(GO) test -count=1 ./test/golden -run 'TestWhatAReviewerReads/^$(PULL)$$' -pages "$$pages" && page="$$pages/$(PULL).html" || exit 1; \
	fi && \
	$(GO) -C test/page run ./picture -page "$$page" -out $(CURDIR)/docs/preview.png -height 1180
	@echo "wrote docs/preview.png"

# The pictures of comments in docs/previews.md, which take a font with emoji.
COMMENTS ?= safe-removal blocked-by-stored-versions chart-bumped
comment-pictures:
	@for pull in $(COMMENTS); do \
		$(GO) -C test/page run ./picture -comment $(CURDIR)/test/golden/testdata/pulls/$$pull/expected.md -width 980 -out $(CURDIR)/docs/comments/$$pull.png || exit 1; \
		echo "wrote docs/comments/$$pull.png"; \
	done
