// Package runbook is, for one CRD of one cluster, what is done, what is next and what each step risks. The way goes from two
// versions that are served to one. It is pure: an Observation goes in, and a Plan comes out. docs/runbook.md is for people.
//
// The steps are in two phases. Those of the first can be done again, and taken back, as often as anybody likes: they rehearse, back
// up, opt in, flip the storage version and migrate. Those of the second are deliberate: clients of the old version stop working.
//
// The way back is the same from the newer version to the older one (Return). It begins with what objects would lose, and with a CRD
// between, since the older version may have left the CRD.
package runbook
