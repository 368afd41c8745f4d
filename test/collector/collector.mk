# Owner references beside the real garbage collector, of kube-controller-manager: what a removal does to them without a repair,
# and with it. A few minutes; COLLECTOR_FLAGS adds to the tests' own flags, for example COLLECTOR_FLAGS="-run Nothing".
GO ?= go

.PHONY: test-collector
test-collector: control-plane kube-controller-manager ## owner references beside the real garbage collector (builds it for five minutes, once)
	@$(GO) test $(RACE) -count=1 -timeout 30m -v ./test/collector $(COLLECTOR_FLAGS)
