// Package store finds charts that are not in the repository: in folders that somebody names, or in their registry, over HTTP
// or OCI, with the credentials that Helm keeps.
//
// A pull request may come from a stranger, so the caller says which hosts may be asked: with Hosts set, an address of any
// other host is refused. A host that may be asked can lead to another one, as registries do for their blobs; that one has to
// be a public address and to speak HTTPS.
//
// Start with Store in store.go; http.go and oci.go fetch, folders.go looks into folders, client.go decides who is asked.
package store
