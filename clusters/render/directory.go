package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gobwas/glob"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/policies/finding"
)

// DirectoryOptions are those of an Argo CD source of type directory.
type DirectoryOptions struct {
	// Recurse takes the folders below, too.
	Recurse bool
	// Include and Exclude are patterns for paths relative to the folder, in which * stands for anything, {a,b} for one
	// of several. Empty leaves out nothing.
	Include, Exclude string
	// Root, if set, is the folder that nothing is read outside of.
	Root string
	// Note, if set, is called for every file that is read, by its absolute path.
	Note func(path string)
	// Evaluate, if set, makes manifests of a file of Jsonnet. Without, there are none in it.
	Evaluate func(file string, content []byte) ([]byte, error)
}

// Directory reads the manifests of a folder one by one, as Argo CD does when there is neither a kustomization nor a
// chart in it. Other YAML is passed over, but an error where it looks like a broken manifest.
func Directory(dir string, o DirectoryOptions) (*Rendering, error) {
	disk, err := confine(regular{filesys.MakeFsOnDisk()}, o.Root)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", dir, err)
	}
	disk = noted(disk, o.Note)
	files, err := o.files(dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", dir, err)
	}
	whole := &Rendering{Name: dir}
	for _, file := range files {
		content, err := disk.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", file, err)
		}
		if bytes.Contains(content, []byte("+argocd:skip-file-rendering")) {
			continue
		}
		read, err := o.stream(file, content)
		switch {
		case err != nil && (looksLikeManifest(content) || filepath.Ext(file) == jsonnet):
			return nil, err
		case err != nil:
			continue
		}
		whole.Objects = append(whole.Objects, read.Objects...)
		whole.Files = append(whole.Files, file)
	}
	return whole, nil
}

// jsonnet is the ending of programs that make manifests.
const jsonnet = ".jsonnet"

// stream reads a file. What a program makes is at no place in it.
func (o DirectoryOptions) stream(file string, content []byte) (*Rendering, error) {
	if filepath.Ext(file) != jsonnet {
		return Stream(file, bytes.NewReader(content))
	}
	content, err := o.Evaluate(file, content)
	if err != nil {
		return nil, err
	}
	read, err := Stream(file, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	for _, object := range read.Objects {
		object.At = func(...string) finding.Place { return finding.Place{File: file} }
	}
	return read, nil
}

func (o DirectoryOptions) files(dir string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(dir) // WalkDir does not follow one
	if err != nil {
		return nil, err
	}
	include, exclude := pattern(o.Include), pattern(o.Exclude)
	var files []string
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && (!o.Recurse || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", jsonnet}, filepath.Ext(path)) || filepath.Ext(path) == jsonnet && o.Evaluate == nil:
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); err != nil || o.Include != "" && !include.Match(name) || o.Exclude != "" && exclude.Match(name) {
			return err
		}
		files = append(files, path)
		return nil
	})
	return files, err
}

// pattern is Argo CD's kind of glob, in which * reaches over slashes. One that cannot be read matches nothing.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/util/glob/glob.go
func pattern(text string) glob.Glob {
	read, err := glob.Compile(text)
	if err != nil {
		return glob.MustCompile("") // no name is empty
	}
	return read
}

// looksLikeManifest is Argo CD's own guess at what is to be applied.
func looksLikeManifest(content []byte) bool {
	return bytes.Contains(content, []byte("apiVersion:")) && bytes.Contains(content, []byte("kind:")) && bytes.Contains(content, []byte("metadata:"))
}
