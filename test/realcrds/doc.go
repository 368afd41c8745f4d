// Command realcrds compares the CRDs of well-known operators, release with release, as they lie in their Go modules: what
// nobody made up for a test. `make test-real` runs it. It needs the Go module proxy and nothing else.
//
// For each pair of releases in releases.go it prints what policies/crddiff finds, and it fails when
//
//   - a CRD cannot be read, or the comparison panics;
//   - a CRD differs from itself, or is said to have a field that no CRD has;
//   - something is lost and nobody says so: an object that has every field of the old schema is pruned with the API
//     server's own code by the new one, and each field that goes must have been told (oracle.go);
//   - the table in docs/previews.md is another one. -write writes it anew.
package main
