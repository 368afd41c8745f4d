// Command realcrds tries Moult on the releases of well-known operators, one after the other, as they lie in their Go modules:
// what nobody made up for a test. `make real` runs it. It needs the Go module proxy and nothing else.
//
// Each pair of releases in releases.go becomes two commits of a Git repository, in which the built moult is run without any
// flag, as a person would. An API server, which is given the CRDs of one release and then those of the next, judges what it
// says. The program fails when
//
//   - a CRD cannot be read, or the comparison panics;
//   - a CRD differs from itself, or is said to have a field that no CRD has;
//   - something is lost and nobody says so: an object that has every field of the old schema is pruned with the API
//     server's own code by the new one, and each field that goes must have been told, and no other (oracle.go);
//   - the preview does not mention a CRD that differs, lets one pass that the API server refuses, or says of one that it is
//     refused, and it is not (agree.go);
//   - the tables in docs/real-releases.md are others. -write writes them anew. Time and memory are not compared.
//
// `make histories` is the same for `moult check versions`: histories.go names minor releases as commits of bare clones,
// wayback.go has an API server take each step and go back, and the table is in docs/versions.md. It downloads nothing.
package main
