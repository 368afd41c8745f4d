package main

import (
	"errors"
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

// manifestFiles reads the files of the paths, each once. A path that is a symbolic link stands for what it leads to, since
// somebody has named it. Links below a path are not followed: what they lead to is read under its own name or is outside,
// and nothing outside of what was named is ever written. The notes tell of both.
func manifestFiles(paths []string) (files []manifest.File, notes []string, err error) {
	known := map[string]bool{}
	var roots, links []string
	for _, path := range paths {
		root, err := followed(path)
		if err != nil {
			return nil, nil, err
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			notes = append(notes, fmt.Sprintf("%s is a symbolic link to %s, which is what is looked at", path, root))
		}
		roots = append(roots, root)
		err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == ".git" && name != root:
				return filepath.SkipDir
			case entry.Type()&fs.ModeSymlink != 0:
				links = append(links, name)
				return nil
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
			return nil, nil, err
		}
	}
	return files, append(notes, leadingOut(links, roots)...), nil
}

// followed is what a path stands for.
func followed(path string) (string, error) {
	root, err := filepath.EvalSymlinks(path)
	switch {
	case path == "-" && err != nil:
		return "", errors.New("- is not a path; manifests are changed where they lie, so name files or folders")
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: there is no such file or folder; name one that holds manifests", path)
	}
	return root, err
}

// leadingOut tells of links to manifests that none of the roots holds.
func leadingOut(links, roots []string) []string {
	var notes []string
	for _, link := range links {
		target, err := filepath.EvalSymlinks(link)
		if err != nil {
			continue // it leads nowhere, so there is nothing to change
		}
		info, err := os.Stat(target)
		if err != nil || !info.IsDir() && !slices.Contains(manifestExtensions, filepath.Ext(target)) {
			continue
		}
		if !slices.ContainsFunc(roots, func(root string) bool { return holds(root, target) }) {
			notes = append(notes, fmt.Sprintf("%s is a symbolic link to %s, outside of what was named, and is left out; name that, too, if it is to be changed", link, target))
		}
	}
	return notes
}

func holds(root, target string) bool {
	within, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	if within, err = filepath.Abs(within); err != nil {
		return false
	}
	if target, err = filepath.Abs(target); err != nil {
		return false
	}
	short, err := filepath.Rel(within, target)
	return err == nil && filepath.IsLocal(short)
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
