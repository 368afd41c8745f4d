package render

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/moult-dev/moult/clusters/repository/lacking"
)

// PointerError is for a file whose content cannot be had here: the file is a pointer to it, encrypted, or
// in another clone.
type PointerError struct {
	file string
	// How says what keeps the content, and Fix how to get it.
	How, Fix string
}

// Error implements error.
func (e *PointerError) Error() string {
	return fmt.Sprintf("%s is %s; %s", e.file, e.How, e.Fix)
}

// pointerIn finds out whether a file is such a pointer; nil if it is not.
// https://github.com/git-lfs/git-lfs/blob/v3.7.0/docs/spec.md and https://github.com/AGWA/git-crypt/blob/0.7.0/commands.cpp
func pointerIn(file string, content []byte) *PointerError {
	switch {
	case bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")), bytes.HasPrefix(content, []byte("version https://hawser.github.com/spec/")):
		return &PointerError{file, "a pointer of Git LFS" + lfsObject(content), "run `git lfs pull`, and name folders that have the content in place of revisions"}
	case bytes.HasPrefix(content, []byte(lacking.Mark)):
		return &PointerError{file, "not in this clone", "clone without --filter, or let Git reach the remote"}
	case bytes.HasPrefix(content, []byte("\x00GITCRYPT\x00")):
		return &PointerError{file, "encrypted by git-crypt", "run `git-crypt unlock`, and name folders that have the content in place of revisions"}
	}
	return nil
}

// lfsObject is which content a pointer means.
func lfsObject(content []byte) string {
	const short = 12
	for line := range strings.Lines(string(content)) {
		if sum, found := strings.CutPrefix(strings.TrimSpace(line), "oid sha256:"); found {
			return " (" + sum[:min(short, len(sum))] + ")"
		}
	}
	return ""
}
