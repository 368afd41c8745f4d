# The CRDs of well-known operators, release with release, as they lie in their Go modules, and a preview of each upgrade,
# judged by an API server. It is not part of `make test`, since it downloads half a gigabyte, once.
.PHONY: test-real
test-real: control-plane ## preview the releases of real operators, judged by an API server (ARGS=-v tells more)
	@$(GO) run ./test/realcrds $(ARGS)

# The CRDs of some projects, minor release after minor release, at commits of their repositories, and what the API server
# says of each step and of the way back. CLONES is a folder of bare clones; one that is not there is asked for.
.PHONY: test-histories
test-histories: CLONES ?= clones
test-histories: control-plane ## judge the histories of real operators, step by step beside an API server (CLONES=folder; ARGS=-v tells more)
	@$(GO) run ./test/realcrds -histories $(CLONES) -page docs/versions.md $(ARGS)
