package main

import (
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
