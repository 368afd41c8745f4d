// Package releasenotes writes the section of release notes that the maintainers of an operator owe those who have
// objects of its CRDs. It has which fields are new, changed, deprecated or removed in which version, and whether the
// order of the upgrade matters. It also has what to try before, and how stored objects get to the new storage version.
//
// Make turns what policies/crddiff has found into Notes, which are JSON as they are; Markdown writes them for people. It
// is pure, and `moult notes` is the command around it.
package releasenotes
