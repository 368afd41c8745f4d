// Package timeline notices that etcd was restored to an older state.
//
// What a process remembers of a cluster may no longer be true then: proofs, surveys, looks, owners, and its caches. The
// watches of the caches go on from a resourceVersion that etcd has yet to reach and show nothing until then. No part of
// it can be distinguished from what still holds, so all of it is given up in one way. The process ends, and the next
// one reads everything anew. What an earlier process has written into the cluster is believed again, because it was
// restored together with what it is about.
package timeline
