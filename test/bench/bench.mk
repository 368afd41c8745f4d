# Moult beside the other ways of migrating stored objects, on one control plane. test/bench/main.go tells what there is.
# The peer that is a program of its own, kube-controller-manager, is built once from its pinned module,
# test/tools/kube-controller-manager, into the user's cache folder, whose name carries the version.
# Included by the Makefile at the top.
GO ?= go
BENCH_CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/moult/bench

.PHONY: bench bench-short bench-memory bench-restart bench-gates bench-managers bench-peers clean-bench-peers test-bench
bench: bench-program bench-peers ## measure Moult beside its peers (30 minutes; ARGS="--only moult,ceiling --rtt 0")
	@exec ./bin/bench $(ARGS)

bench-short: bench-program bench-peers ## the same with fewer objects, delays and rounds (5 minutes)
	@exec ./bin/bench --short $(ARGS)

bench-memory: bench-program ## measure Moult's memory: 50,000 objects, 1,000 CRDs (20 minutes, 16 GiB)
	@exec ./bin/bench memory $(ARGS)

bench-restart: bench-program ## measure what a crash and a second pass cost
	@exec ./bin/bench restart $(ARGS)

bench-gates: bench-program ## measure how long one VersionRemoval waits beside 3,000 of another namespace
	@exec ./bin/bench gates $(ARGS)

bench-managers: bench-program ## measure how fast objects with 1, 30 and 120 field managers are migrated
	@exec ./bin/bench managers $(ARGS)

test-bench: ## test what measures
	@$(GO) -C test/bench test $(RACE) $(TEST_FLAGS) ./...

.PHONY: bench-program
bench-program: control-plane
	@[ -x bin/bench ] || echo "building the benchmark (three minutes, once)"
	@$(GO) -C test/bench build -o $(CURDIR)/bin/bench .

# A broken-off build leaves nothing behind. The exports take back what settings made for another project would change.
bench-peers:
	@set -eu; export GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= CGO_ENABLED=0; \
	module=test/tools/kube-controller-manager; \
	version=$$($(GO) -C $$module list -m -f '{{.Version}}' k8s.io/kubernetes); \
	folder="$(BENCH_CACHE)/kube-controller-manager-$$version-$$($(GO) env GOOS)-$$($(GO) env GOARCH)"; \
	[ ! -x "$$folder/kube-controller-manager" ] || exit 0; \
	echo "building kube-controller-manager $$version into $$folder (once; about 5 minutes on 2 cores)"; \
	mkdir -p "$$folder"; \
	unfinished=$$(mktemp "$$folder/.unfinished.XXXXXX"); \
	trap 'rm -f "$$unfinished"' EXIT; trap 'exit 1' INT TERM; \
	minor=$${version#v1.}; stamp="-X k8s.io/component-base/version"; \
	$(GO) -C $$module build -buildvcs=false -o "$$unfinished" \
		-ldflags "$$stamp.gitVersion=$$version $$stamp.gitMajor=1 $$stamp.gitMinor=$${minor%%.*}" k8s.io/kubernetes/cmd/kube-controller-manager; \
	chmod 755 "$$unfinished"; \
	mv "$$unfinished" "$$folder/kube-controller-manager"

clean-bench-peers:
	rm -rf "$(BENCH_CACHE)"
