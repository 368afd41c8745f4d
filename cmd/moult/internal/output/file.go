package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moult-dev/moult/policies/words"
)

// WriteFile replaces a file in one step, with the mode that it had. A reader sees the old content or the new, and after
// an error the old one is there. A pipe, and whatever else is no regular file, is written to directly.
func WriteFile(path string, content []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o644) // to be committed, or handed to a pipeline
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			if err := os.WriteFile(path, content, 0); err != nil {
				return CannotWrite(path, err)
			}
			return nil
		}
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return CannotWrite(path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(content)
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Chmod(f.Name(), mode)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return CannotWrite(path, err)
	}
	return nil
}

// CannotWrite names the file that was asked for, and not the one beside it that is written first.
func CannotWrite(path string, err error) error {
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cannot be written: there is no folder %s; make it with `mkdir -p %s`", path, dir, words.Shell(dir))
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if inner := (*os.LinkError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}
