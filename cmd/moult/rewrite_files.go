package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	manifest "github.com/moult-dev/moult/policies/manifests"
)

// manifestExtensions are those of files that may hold manifests. The last two are templates.
var manifestExtensions = []string{".yaml", ".yml", ".json", ".tpl", ".gotmpl"}

// mostBytes is more than any manifest in Git can have: an object in etcd has at most 1.5 MiB.
const mostBytes = 64 << 20

// manifestFiles reads the files of the paths, each once. A path is followed if it is a symbolic link; what is found below
// it is not.
func manifestFiles(paths []string) ([]manifest.File, error) {
	var files []manifest.File
	known := map[string]bool{}
	for _, path := range paths {
		root, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == ".git" && name != root:
				return filepath.SkipDir
			case !entry.Type().IsRegular() || name != root && !slices.Contains(manifestExtensions, filepath.Ext(name)):
				return nil
			}
			content, err := readManifest(name)
			if absolute, _ := filepath.Abs(name); err == nil && content != nil && !known[absolute] {
				known[absolute] = true
				files = append(files, manifest.File{Name: filepath.ToSlash(name), Content: content})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// readManifest returns nothing for a file that is too large to be one.
func readManifest(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil || len(content) > mostBytes {
		return nil, err
	}
	return content, nil
}

// replaceFile puts new content in a file's place at once, with the mode that it had: whoever reads it sees the old content
// or the new.
func replaceFile(name string, content []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	beside, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be replaced: %w", name, err)
	}
	defer func() { _ = os.Remove(beside.Name()) }() // which is gone if all went well
	_, err = beside.Write(content)
	for _, next := range []func() error{
		func() error { return beside.Chmod(info.Mode().Perm()) },
		beside.Sync,
		beside.Close,
		func() error { return os.Rename(beside.Name(), name) },
	} {
		if err == nil {
			err = next()
		}
	}
	if err != nil {
		_ = beside.Close()
		return fmt.Errorf("%s cannot be replaced: %w", name, err)
	}
	return nil
}
