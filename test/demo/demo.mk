# The whole of Moult in under a minute, for real. OBJECTS=5000 and KEEP=1 are short for ARGS="--objects 5000 --keep".
#
# It can be told on any kube-apiserver that Moult supports, so programs that are there are taken, else setup-envtest is
# asked for some, and only then are they built, for minutes. MOULT_ENVTEST_INDEX names another index for setup-envtest;
# with ENVTEST_INSTALLED_ONLY=1 nothing is fetched. Tests take none of this: they check what is pinned.
GO ?= go
DEMO_FLAGS = $(if $(OBJECTS),--objects $(OBJECTS)) $(if $(KEEP),--keep) $(ARGS)
READY = GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= $(GO) run ./test/controlplane/build -ready

.PHONY: demo
demo: ## see Moult at work on a real control plane (ARGS="--objects 2000 --keep")
	@[ -x bin/demo ] || echo "building moult-controller and the demo (a minute or two, once)"
	@$(GO) build -o bin/ ./cmd/moult-controller ./test/demo
	@programs=$$($(READY)) && export KUBEBUILDER_ASSETS="$$programs" MOULT_KUBERNETES= && exec ./bin/demo $(DEMO_FLAGS)
