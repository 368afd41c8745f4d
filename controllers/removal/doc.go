// Package removal reconciles VersionRemovals: it says whether versions of a CRD
// may go, and who has to do what if not.
//
// Reconcile is the main path: observe → verdict.Judge → approve → report. It writes the VersionRemoval's status; the
// condition VersionsRemovable of an opted-in CRD, which admission policies read (approve.go). And, if asked to, the
// annotations that make Flux or Argo CD reconcile (requester.go). What has to be rewritten or repaired is asked of the
// migration reconciler, which does it for CRDs that are opted in, and for no others.
package removal
