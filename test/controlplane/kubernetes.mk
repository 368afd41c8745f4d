# Moult on each minor version of Kubernetes that has a module under test/tools: the migration's life, the gate, the policies,
# the snapshot, the doctor and the other commands, and the installation. K8S=1.34 chooses one, K8S="1.33 1.34" several;
# without it all are played, the oldest first. Each kube-apiserver is built once.
GO ?= go

KUBERNETES_MINORS = GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= $(GO) run ./test/controlplane/build -minors
KUBERNETES_PACKAGES = ./controllers/migration ./controllers/removal ./test/conformance/admission ./clusters/inspect ./cmd/moult/... ./test/install ./test/builders

.PHONY: test-kubernetes test-kubernetes-oldest
test-kubernetes: ## test Moult on every Kubernetes it supports, or on K8S=1.34; each is built once, for minutes
	@minors=$$($(KUBERNETES_MINORS)) || exit 1; \
	for minor in $(or $(K8S),$$minors); do \
		export MOULT_KUBERNETES=$$minor; \
		$(MAKE) --no-print-directory control-plane || exit 1; \
		echo "testing on Kubernetes $$minor"; \
		$(GO) test -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(KUBERNETES_PACKAGES) || { echo "failed on Kubernetes $$minor" >&2; exit 1; }; \
	done # -count=1: Go's cache does not see which API server a TestMain has started

test-kubernetes-oldest: # `make test` is the newest
	@oldest=$$($(KUBERNETES_MINORS) | head -n 1) && $(MAKE) --no-print-directory test-kubernetes K8S=$$oldest
