// Package site reads the site that `make site` has built from README and docs: every link and anchor leads somewhere, every
// page is in the navigation and in the index of the search, and nothing is asked of another server. How it looks in a browser
// is in test/page. `make test-full PARTS=site` builds it and runs this.
package site
