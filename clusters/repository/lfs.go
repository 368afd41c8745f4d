package repository

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
)

// lfsPointer is what Git has of a file that Git LFS keeps.
// https://github.com/git-lfs/git-lfs/blob/v3.7.0/docs/spec.md
var lfsPointer = regexp.MustCompile(`^version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\n`)

const (
	// longestPointer is how many bytes a pointer has at most.
	longestPointer = 1024
	// longestKept is how many bytes are read in place of a pointer at most: no manifest or chart is longer.
	longestKept = 64 << 20
)

// kept is the content that a pointer of Git LFS means, if this clone has it; otherwise the pointer as it is.
func (c *checkout) kept(content []byte) []byte {
	if len(content) > longestPointer {
		return content
	}
	found := lfsPointer.FindSubmatch(content)
	storage := storageOf(c.repository)
	if found == nil || storage == nil {
		return content
	}
	oid := string(found[1])
	path := filepath.Join(commonFolder(storage.Filesystem().Root()), "lfs", "objects", oid[:2], oid[2:4], oid)
	if info, err := os.Stat(path); err != nil || info.Size() > longestKept {
		return content
	}
	object, err := os.ReadFile(path)
	if sum := sha256.Sum256(object); err != nil || !bytes.Equal(found[1], []byte(hex.EncodeToString(sum[:]))) {
		return content
	}
	return object
}
