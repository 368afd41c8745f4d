package repository

import (
	"path/filepath"
	"strings"
	"sync"
)

// Reads are the paths that something was made of: files that were read or looked for, and folders of which everything was
// read. Paths are absolute. The zero value has none, and nil takes note of nothing.
type Reads struct {
	mu           sync.Mutex
	files, below map[string]bool
	// stands are files of which no more than their text was compared, in place of something that cannot be seen.
	stands map[string]bool
}

// Stands notes a file that stands for something which cannot be seen, and has yet to be looked at for itself.
func (r *Reads) Stands(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stands == nil {
		r.stands = map[string]bool{}
	}
	r.stands[path] = true
}

// IsCompared reports whether a file was read, or stands for something that cannot be seen.
func (r *Reads) IsCompared(path string) bool {
	if r.Has(path) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stands[path]
}

// File notes a file. A symbolic link on the way to it was read, too, and so was what the link leads to.
func (r *Reads) File(path string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]bool{}
	}
	if r.files[path] {
		return
	}
	r.files[path] = true
	if direct, err := filepath.EvalSymlinks(path); err == nil && direct != path {
		r.files[direct] = true
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			r.files[dir] = true
		}
	}
}

// Folder notes a folder with all that is below it.
func (r *Reads) Folder(path string) {
	r.File(path)
	if r == nil {
		return
	}
	direct, err := filepath.EvalSymlinks(path)
	if err != nil {
		direct = path
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.below == nil {
		r.below = map[string]bool{}
	}
	r.below[direct] = true
}

// Has reports whether a path was read.
func (r *Reads) Has(path string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for dir := path; ; dir = filepath.Dir(dir) {
		if r.below[dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			return r.files[path]
		}
	}
}

// Below reports whether anything below a folder was read, or looked for.
func (r *Reads) Below(dir string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range r.files {
		if strings.HasPrefix(path, dir+string(filepath.Separator)) {
			return true
		}
	}
	return r.files[dir]
}
