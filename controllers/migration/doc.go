// Package migration reconciles opted-in CustomResourceDefinitions until every
// stored object is proved to be stored at the storage version and
// status.storedVersions names no other.
//
// Reconcile is the main path: observe → plan.Decide → act → report. Walks over the objects run in the background
// (walks.go) and wake the reconciler when they end. What is known is kept in memory (state.go) and, where it must
// outlive the process, in the CRD's own StorageMigrated condition, which report.go alone writes.
//
// An operator embeds it with one call: SetupWithManager(mgr, Options{...}).
package migration
