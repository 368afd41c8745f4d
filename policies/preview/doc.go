// Package preview joins what a pull request changes in CRDs (policies/change), in which order each cluster takes it
// (policies/rollout) and what each cluster stores (policies/snapshot) into one Report with one Verdict.
//
// It is pure: `moult preview` renders, reads and asks, and policies/preview/show turns the Report into Markdown, JSON,
// annotations, text and a page.
package preview
