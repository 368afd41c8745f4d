// Package releases reads what a project has released, one release after the other. It reads the CRDs at the tags of its
// repository, and those of the work tree as the release to come. Tags are read where Git keeps them; nothing is checked
// out.
//
// Start with Read in read.go; tags.go chooses the tags, folders.go finds the folders that hold CRDs, and crds.go reads one.
package releases
