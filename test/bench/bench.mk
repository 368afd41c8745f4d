# Moult beside the other ways of migrating stored objects, on one control plane. test/bench/main.go tells what there is.
# The peer that is a program of its own is kube-controller-manager (test/tools/kube-controller-manager).
# Included by the Makefile at the top.
GO ?= go

.PHONY: bench bench-short bench-memory bench-restart bench-gates bench-managers bench-survivors bench-rehearse bench-backup test-bench
bench: bench-program kube-controller-manager ## measure Moult beside its peers (30 minutes; ARGS="--only moult,ceiling --rtt 0")
	@exec ./bin/bench $(ARGS)

bench-short: bench-program kube-controller-manager ## the same with fewer objects, delays and rounds (5 minutes)
	@exec ./bin/bench --short $(ARGS)

bench-memory: bench-program ## measure Moult's memory: 50,000 objects, 1,000 CRDs (20 minutes, 16 GiB)
	@exec ./bin/bench memory $(ARGS)

bench-restart: bench-program ## measure what a crash and a second pass cost
	@exec ./bin/bench restart $(ARGS)

bench-gates: bench-program ## measure how long one VersionRemoval waits beside 3,000 of another namespace
	@exec ./bin/bench gates $(ARGS)

bench-managers: bench-program ## measure how fast objects with 1, 30 and 120 field managers are migrated
	@exec ./bin/bench managers $(ARGS)

bench-survivors: bench-program ## measure a look at 100,000 objects for what still names a version (10 minutes; ARGS="--objects 5000 --rounds 1")
	@exec ./bin/bench survivors $(ARGS)

bench-rehearse: control-plane ## measure a rehearsal of 1,000 objects and of 10,000: time for each thousand, and memory
	@$(GO) test ./cmd/moult/rehearse -run '^$$' -bench . -benchtime 3x

bench-backup: control-plane ## measure a backup of 20,000 objects and its restore, killed and repeated: time and memory (5 minutes)
	@$(GO) test ./cmd/moult/restore -run '^$$' -bench . -benchtime 1x

test-bench: control-plane ## test what measures
	@$(GO) -C test/bench test $(RACE) $(TEST_FLAGS) ./...

.PHONY: bench-program
bench-program: control-plane
	@[ -x bin/bench ] || echo "building the benchmark (three minutes, once)"
	@$(GO) -C test/bench build -o $(CURDIR)/bin/bench .
