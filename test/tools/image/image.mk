# The container image and its bills of materials, written by test/tools/image into bin/image: no daemon, no base image.
# Included by the Makefile at the top; works alone too: make -f test/tools/image/image.mk image
GO ?= go
IMAGE_PLATFORMS ?= linux/amd64,linux/arm64

.PHONY: image test-image
image: ## write the container image and its SBOM into bin/image, without a daemon
	@GOWORK=off $(GO) -C test/tools/image run . -root $(CURDIR) -out $(CURDIR)/bin/image -platforms $(IMAGE_PLATFORMS)

# For the machine's own platform, because the test runs what it finds in the image.
test-image: ## check what is in the container image
	@GOWORK=off $(GO) -C test/tools/image test -timeout 30m ./...
