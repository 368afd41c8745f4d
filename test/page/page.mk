# The preview's page in a real browser. Included by the Makefile at the top; `make test` does not run it, since it needs a
# Chromium, and without one it fails. CHROMIUM names one that is not in the PATH.
GO ?= go
PAGE ?= policies/preview/show/testdata/blocked-in-one-of-three-clusters/page.html

.PHONY: test-page picture
test-page: ## look at the preview's page in headless Chromium: light, dark, phone, paper, links
	@$(GO) -C test/page test -count=1 -timeout 30m $(TEST_FLAGS) ./... $(PAGE_FLAGS)

picture: ## take the picture of a preview for README.md (PAGE=preview.html)
	@$(GO) -C test/page run ./picture -page $(abspath $(PAGE)) -out $(CURDIR)/docs/preview.png -height 1180
	@echo "wrote docs/preview.png"
