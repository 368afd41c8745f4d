# The conversions of real operators, as their own modules have them, through `moult test conversion`. A module of its own, so that these
# never reach Moult itself. Included by the Makefile at the top.
GO ?= go

.PHONY: test-operators
test-operators: ## hold moult test conversion to the conversions of Cluster API; builds them
	@$(GO) -C test/operators test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...
