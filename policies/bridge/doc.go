// Package bridge makes the CRD that has to be applied in between when a cluster skips a release. It is the new one,
// with the versions put back that are still stored or served.
//
// An API server refuses a CRD without a version that status.storedVersions names, and nothing can move the objects away
// from it while it is the storage version. The intermediate CRD has the old versions and already the new storage version;
// once Moult has rewritten every object, the new CRD can follow.
//
// Between is the whole of it; Header says in comments what to do with the result.
package bridge
