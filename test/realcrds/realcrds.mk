# The CRDs of well-known operators, release with release, as they lie in their Go modules. It is not part of `make test`,
# since it downloads a few hundred megabytes, once.
.PHONY: test-real
test-real: ## compare the CRDs of real operators, release with release (ARGS=-v tells more)
	@$(GO) run ./test/realcrds $(ARGS)
