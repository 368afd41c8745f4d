# Repositories of the shapes that people have, commit by commit, and a person's verdict about each. In its own folder, go
# test prints the table that the test ends with.
.PHONY: test-repositories
test-repositories: ## ask for a preview of every commit in small repositories shaped like real ones
	@$(GO) -C test/repositories test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS)
