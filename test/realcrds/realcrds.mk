# The CRDs of well-known operators, release with release, as they lie in their Go modules, and a preview of each upgrade,
# judged by an API server. It is not part of `make test`, since it downloads half a gigabyte, once.
.PHONY: test-real
test-real: control-plane ## preview the releases of real operators, judged by an API server (ARGS=-v tells more)
	@$(GO) run ./test/realcrds $(ARGS)
