// Package preview makes one Report with one Verdict. It joins what a pull request changes in CRDs (policies/crddiff),
// in which order each cluster takes it (policies/rollout) and what each cluster stores (policies/snapshot).
//
// It is pure: `moult preview` renders, reads and asks, and policies/preview/output turns the Report into Markdown, JSON,
// annotations, text and a page. What may be removed is decided by the code that the gate asks, too; nothing here decides
// it a second time.
//
// Start with Make in make.go, then meaning.go, which is the verdict on one CRD in one cluster.
package preview
