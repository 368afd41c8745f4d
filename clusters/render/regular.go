package render

import (
	"fmt"
	"io/fs"
	"os"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// ReadRegular is os.ReadFile for files that nobody has named one by one, as those below a folder are. To open a named pipe
// is to wait until somebody writes into it, and a device may have no end: so what is no regular file is an error.
func ReadRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() && !mode.IsDir() { // os.ReadFile has an error for folders
		return nil, fmt.Errorf("%s is %s, not a file; take it out of the folder", name, special(mode))
	}
	return os.ReadFile(name)
}

func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

// regular is the disk, of which only regular files can be read.
type regular struct{ filesys.FileSystem }

// ReadFile is how Kustomize reads everything but remote files.
func (regular) ReadFile(name string) ([]byte, error) { return ReadRegular(name) }
