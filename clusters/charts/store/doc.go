// Package store finds charts that are not in the repository: in folders that somebody names, or in their registry, over HTTP
// or OCI, with the credentials that Helm keeps.
//
// A pull request may come from a stranger, so a network.Policy says which hosts may be asked.
//
// Start with Store in store.go; http.go and oci.go fetch, folders.go looks into folders.
package store
