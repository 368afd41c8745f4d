# KubeVirt's stashed copies, moved, and judged by KubeVirt's own types and conversions. A module of its own, so that these
# never reach Moult itself. Included by the Makefile at the top.
GO ?= go

.PHONY: test-kubevirt
test-kubevirt: control-plane ## move KubeVirt's stashed instance types, judged by KubeVirt's own conversions
	@$(GO) -C test/kubevirt test $(RACE) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...
