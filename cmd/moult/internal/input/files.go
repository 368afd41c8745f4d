package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/policies/manifests"
)

// manifestExtensions are those of files that may hold manifests. The last two are templates.
var manifestExtensions = []string{".yaml", ".yml", ".json", ".tpl", ".gotmpl"}

// mostBytes is more than any manifest in Git can have: an object in etcd has at most 1.5 MiB.
const mostBytes = 64 << 20

// FileSet is what lies below the paths that were named.
type FileSet struct {
	Files []manifests.File
	// Notes tell of links that are not followed.
	Notes []string

	// outside are files that links lead to, and that are not below any of the paths, by name with the link.
	outside []manifests.File
	links   map[string]string
}

// Files reads the files of the paths, each once. If a path is a symbolic link, what it leads to is read. Links below a path
// are not followed: what they lead to is read under its own name, or is outside, and nothing outside is ever written. The
// notes tell of both.
func Files(paths []string) (*FileSet, error) {
	t := &FileSet{links: map[string]string{}}
	known := map[string]bool{}
	var roots, links []string
	for _, path := range paths {
		root, err := followed(path)
		if err != nil {
			return nil, err
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is a symbolic link to %s, which is what is looked at", path, root))
		}
		roots = append(roots, root)
		files, found, err := manifestsBelow(root, known)
		if err != nil {
			return nil, err
		}
		t.Files, links = append(t.Files, files...), append(links, found...)
	}
	t.leadingOut(links, roots, known)
	return t, nil
}

// manifestsBelow reads the files of a folder that are not known yet, or the one file, and names the links in it.
func manifestsBelow(root string, known map[string]bool) (files []manifests.File, links []string, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git" && name != root:
			return filepath.SkipDir
		case entry.Type()&fs.ModeSymlink != 0:
			links = append(links, name)
			return nil
		case entry.IsDir() || name != root && !slices.Contains(manifestExtensions, filepath.Ext(name)):
			return nil
		case !entry.Type().IsRegular() && name == root:
			return fmt.Errorf("%s is neither a file nor a folder, so nothing in it can be rewritten; name one that is", name)
		case !entry.Type().IsRegular():
			return nil // a named pipe, for example, which Git does not keep and which would be waited for
		}
		content, err := readManifest(name)
		if absolute, _ := filepath.Abs(name); err == nil && content != nil && !known[absolute] {
			known[absolute] = true
			files = append(files, manifests.File{Name: filepath.ToSlash(name), Content: content})
		}
		return err
	})
	return files, links, err
}

// followed is a path without symbolic links.
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

// leadingOut looks at links to manifests that none of the roots holds. What they lead to is read, so that it can be told
// whether something there is left, unless it cannot be, or is a folder around what was named.
func (t *FileSet) leadingOut(links, roots []string, known map[string]bool) {
	for _, link := range links {
		target, err := filepath.EvalSymlinks(link)
		if err != nil {
			continue // it leads nowhere, so there is nothing to change
		}
		info, err := os.Stat(target)
		if err != nil || !info.IsDir() && !slices.Contains(manifestExtensions, filepath.Ext(target)) {
			continue
		}
		if slices.ContainsFunc(roots, func(root string) bool { return holds(root, target) }) {
			continue
		}
		t.Notes = append(t.Notes, fmt.Sprintf("%s is a symbolic link to %s, outside of what was named, and is left out; name that, too, if it is to be changed", link, target))
		if slices.ContainsFunc(roots, func(root string) bool { return holds(target, root) }) {
			continue
		}
		files, _, err := manifestsBelow(target, known)
		if err != nil {
			continue // it has been told that it is left out
		}
		for _, file := range files {
			t.links[file.Name] = link
		}
		t.outside = append(t.outside, files...)
	}
}

// Left are the places in files outside that are at an old version, for a person.
func (t *FileSet) Left(plan manifests.Plan) []manifests.Reference {
	var hits []manifests.Reference
	for _, result := range manifests.Rewrite(t.outside, plan) {
		for _, hit := range result.References {
			if hit.Why == "" {
				hit.Why = fmt.Sprintf("it is outside of the given paths (%s is a symbolic link to it); add it to the paths", t.links[result.Name])
			}
			hits = append(hits, hit)
		}
	}
	return hits
}

// holds reports whether a folder is around something; both are paths without symbolic links.
func holds(root, target string) bool {
	within, err := filepath.Abs(root)
	if err != nil {
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

// NoSuchPath says what to do about a PATH that is not there. Other errors stay as they are.
func NoSuchPath(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s: there is no such file or folder; name one, as it is seen from the folder this runs in", path)
}
