// Package inspect reads what policies/snapshot keeps of a cluster, and writes nothing to it.
//
// Take asks for CRDs a page at a time, for the metadata of their objects likewise, for VersionRemovals, and for the metrics
// of the API server. Whatever may not be read, or cannot be, becomes a NotRead with the rule that would grant it, and the
// rest is read all the same; only a cluster that does not answer at all is an error. Memory does not grow with the number
// of objects.
package inspect
