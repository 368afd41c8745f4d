// Package doctor examines what a cluster shows for anything that would keep Moult from its work, undo it, or make the
// removal of a version hurt.
//
// A ClusterState is what was read, each fact with the reason why if it could not be read. A missing permission is no
// illness, and the check that needs it reports that it did not run. Examine asks the checks in checks.go, in their
// order, and returns a Report. All of it is pure; reading the cluster is the caller's business, and `moult doctor` is
// one.
//
// Nothing is decided here that is decided elsewhere: who owns the opt-in label is policies/labelorigin, how a migration
// fares is policies/verdict, and what a gate says stands in its status.
package doctor
