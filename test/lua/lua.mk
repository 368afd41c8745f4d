# The judges: scripts, Go, CEL and kstatus on the same objects, in modules of their own. Included by the Makefile at the
# top; works alone too: make -f test/lua/lua.mk test-health

FUZZ_TIME = 60s

.PHONY: test-health fuzz-health

test-health: ## check that Argo CD, the sync engine and Flux give the same verdicts (compiles Argo CD once, some minutes)
	@go -C health/argocd test ./...
	@go -C test/lua test ./...

fuzz-health: ## feed arbitrary objects to every script and expression, FUZZ_TIME each
	@for target in FuzzHealthOfAGate FuzzHealthOfACRD FuzzActions; do \
		go -C test/lua test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x . || exit 1; \
	done
