# Everything that can go wrong, gone wrong on purpose (test/faults). `make test` plays the kills and the judge's own tests.
# FAULTS_FLAGS adds to the tests' own flags, for example FAULTS_FLAGS="-faults.seed=7 -run TestEveryFault/429".
GO ?= go

.PHONY: test-kills test-faults test-faults-nightly
test-kills: control-plane
	@$(GO) test $(RACE) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./test/faults -skip '^TestEveryFault$$'
	@$(GO) test $(RACE) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./test/faults -run '^TestEveryFault$$/^the_controller_is_killed_at_random_points'

test-faults: control-plane ## run Moult through every fault, each before and after the gate is asked for
	@$(GO) test $(RACE) -timeout 60m ./test/faults -faults.full $(FAULTS_FLAGS)

test-faults-nightly: control-plane ## the same with 50 kills, and another seed each time
	@$(GO) test $(RACE) -timeout 120m -v ./test/faults -faults.full -faults.kills=50 -faults.seed=0 $(FAULTS_FLAGS)
