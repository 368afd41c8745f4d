package render

import (
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// noting is the disk, of which it is noted what is read, and what is looked for in vain.
type noting struct {
	filesys.FileSystem

	note func(path string)
}

// noted is a disk that notes, unless nothing wants to know.
func noted(disk filesys.FileSystem, note func(path string)) filesys.FileSystem {
	if note == nil {
		return disk
	}
	return noting{disk, note}
}

func (n noting) asked(name string) {
	if full, err := filepath.Abs(name); err == nil {
		n.note(full)
	}
}

// ReadFile is how Kustomize reads everything but remote files.
func (n noting) ReadFile(name string) ([]byte, error) {
	n.asked(name)
	return n.FileSystem.ReadFile(name)
}

// Exists implements filesys.FileSystem.
func (n noting) Exists(name string) bool {
	there := n.FileSystem.Exists(name)
	if !there {
		n.asked(name)
	}
	return there
}

// CleanedAbs is how Kustomize finds out whether a name is that of a folder or of a file.
func (n noting) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	dir, file, err := n.FileSystem.CleanedAbs(name)
	if err != nil {
		n.asked(name)
	}
	return dir, file, err
}
