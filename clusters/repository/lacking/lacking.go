// Package lacking is about files of a revision that a clone does not have.
package lacking

// Mark is what stands in place of such a file; the hash of its blob stands behind it.
const Mark = "\x00NOT HERE\x00"
