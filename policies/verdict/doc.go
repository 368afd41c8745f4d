// Package verdict decides whether versions of a CRD may be removed.
//
// It is pure: a Situation goes in, a Verdict comes out. The ordered list in
// rules.go is the specification. The controller asks it about a live cluster and
// the preview about a pull request, so the two cannot disagree.
package verdict
