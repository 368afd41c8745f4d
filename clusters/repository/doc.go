// Package repository gives a state of a repository a place on disk, so that it can be built. A state is a folder or a
// file as it lies there, or any revision that Git knows, written as git:REVISION:PATH.
//
// Of a revision the whole tree is written to a temporary folder, since a kustomization may refer to whatever lies beside
// it. The repository itself is only read: not its checkout, its index, nor any ref is touched. Close removes the
// temporary folder.
//
// Start with Open in tree.go; revision.go finds a revision, and checkout.go writes it.
package repository
