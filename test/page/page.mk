# The preview's page in a real browser. Included by the Makefile at the top; `make test` does not run it, since it needs a
# Chromium, and without one it fails. CHROMIUM names one that is not in the PATH.
GO ?= go
# The pull request of test/golden whose page is the picture in README.md; PAGE is a page to take in its place.
PULL ?= blocked-by-stored-versions
PAGE ?=

# The pull requests of test/golden whose comments are the pictures in docs/previews.md.
COMMENTS ?= safe-removal blocked-by-stored-versions chart-bumped

.PHONY: test-page picture comment-pictures
test-page: ## look at the preview's page in headless Chromium: light, dark, phone, paper, links
	@$(GO) -C test/page test -count=1 -timeout 30m $(TEST_FLAGS) ./... $(PAGE_FLAGS)

picture: ## take the picture of a preview for README.md, of a pull request of test/golden (PULL=safe-removal or PAGE=preview.html)
	@pages=$$(mktemp -d) && trap 'rm -rf "$$pages"' EXIT && page='$(abspath $(PAGE))' && \
	if [ -z "$$page" ]; then \
		$(GO) test -count=1 ./test/golden -run 'TestWhatAReviewerIsTold/^$(PULL)$$' -pages "$$pages" && page="$$pages/$(PULL).html" || exit 1; \
	fi && \
	$(GO) -C test/page run ./picture -page "$$page" -out $(CURDIR)/docs/preview.png -height 1180
	@echo "wrote docs/preview.png"

comment-pictures: ## take the pictures of comments for docs/previews.md, which takes a font with emoji
	@for pull in $(COMMENTS); do \
		$(GO) -C test/page run ./picture -comment $(CURDIR)/test/golden/testdata/pulls/$$pull/expected.md -width 980 -out $(CURDIR)/docs/comments/$$pull.png || exit 1; \
		echo "wrote docs/comments/$$pull.png"; \
	done
