// Package snapshot is what one cluster showed at one moment, in a file, and what that means for the removal of versions.
//
// A Snapshot is taken where the cluster can be reached (clusters/inspect reads it, `moult snapshot` writes it) and
// judged where it cannot: in a pull request's pipeline. Judge builds the same plan.MigrationStatus and the same
// verdict.Situation that the controller has, and asks verdict.Judge, so the preview and the gate cannot disagree. What
// was not read is reported as such and never taken for "there is none". An Answer is Ready only on a proof that holds
// for the very CRD that the snapshot shows.
//
// All of it is pure. The file holds no objects, only their number and the names of field managers. It has a few names
// of objects as examples, too, which can be left out.
package snapshot
