# The model of what no two-core machine can show: API servers that lag, with the real reconciler in their midst. `make
# test` plays a few hundred schedules; this plays 20,000 (CHECKS=100000 for a night) and tells the stories of what
# happens when something is left out.
CHECKS ?= 20000

.PHONY: simulate
simulate: ## play thousands of schedules with lagging API servers against the claims (CHECKS=20000)
	@$(GO) test -count=1 -timeout 12h -v ./test/simulation -rapid.checks=$(CHECKS) -rapid.shrinktime=10s $(ARGS)
