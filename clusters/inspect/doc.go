// Package inspect is the only reader of live clusters for people: it reads CRDs for the commands, what policies/snapshot
// keeps of a cluster, and what policies/doctor examines. It writes nothing.
//
// Lists are read a page at a time, and of objects only the metadata, so that memory does not grow with their number.
// Whatever may not be read, or cannot be, is reported with the permission that would grant it, and the rest is read all
// the same. Only CRDs that cannot be read, or a cluster that does not answer at all, are an error.
package inspect
