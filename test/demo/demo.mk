# The whole of Moult in under a minute, for real. OBJECTS=5000 and KEEP=1 are short for ARGS="--objects 5000 --keep".
GO ?= go
DEMO_FLAGS = $(if $(OBJECTS),--objects $(OBJECTS)) $(if $(KEEP),--keep) $(ARGS)

.PHONY: demo
demo: control-plane ## see Moult at work on a real control plane (ARGS="--objects 2000 --keep")
	@[ -x bin/demo ] || echo "building moult-controller and the demo (a minute or two, once)"
	@$(GO) build -o bin/ ./cmd/moult-controller ./test/demo
	@exec ./bin/demo $(DEMO_FLAGS)
