// Package removal reconciles VersionRemovals: it says whether versions of a CRD
// may go, and who has to do what if not.
//
// Reconcile is the main path: observe → verdict.Judge → report. It writes
// nothing but the VersionRemoval's status and, if asked to, the annotations that
// make Flux or Argo CD look again (requester.go). What has to be rewritten or
// repaired is asked of the migration reconciler, which does it for CRDs that are
// opted in, and for no others.
package removal
