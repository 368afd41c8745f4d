# Everything that can go wrong, gone wrong on purpose (test/faults). They are not part of `make test`.
# FAULTS_FLAGS adds to the tests' own flags, for example FAULTS_FLAGS="-faults.seed=7 -run TestEveryFault/429".
GO ?= go

.PHONY: test-faults test-faults-nightly
test-faults: control-plane ## run Moult through every fault, each before and after the gate is asked for
	@$(GO) test $(RACE) -timeout 60m ./test/faults -faults.full $(FAULTS_FLAGS)

test-faults-nightly: control-plane ## the same with 50 kills, and another seed each time
	@$(GO) test $(RACE) -timeout 120m -v ./test/faults -faults.full -faults.kills=50 -faults.seed=0 $(FAULTS_FLAGS)
