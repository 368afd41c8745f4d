// Package files answers what is asked of the files of a repository by those that look for what a cluster gets. It finds where a path
// leads, what tools leave out, and a text that stands for some files.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// Tree is a state of a repository. What is found out by going through all of it is kept, as its files do not change.
type Tree struct {
	*repository.Tree

	// ignoring are the files that tell Flux what to leave out, and sourceIgnore the patterns in them, nil until somebody asks.
	ignoring     map[string]string
	sourceIgnore []gitignore.Pattern
	// folders are all of them, nil until somebody asks, and linked the symbolic links to some.
	folders, linked []string
	// names are all files, nil until somebody asks.
	names []string
	// texts are files by the pattern of their names, and sums are what Repository has found.
	texts map[*regexp.Regexp][]Text
	sums  map[Scope]string
}

// Of are the files of a tree.
func Of(t *repository.Tree) *Tree {
	return &Tree{Tree: t, texts: map[*regexp.Regexp][]Text{}, sums: map[Scope]string{}}
}

// Folder finds a path of a delivery in the tree. It begins at the root of the repository, as the tools do, or else at the
// folder that the tree was opened for: examples hold whole repositories in folders. Empty if there is
// none.
func (t *Tree) Folder(path string) string {
	for _, root := range []string{t.Root, t.Dir} {
		dir := filepath.Join(root, filepath.FromSlash(path))
		short, err := filepath.Rel(t.Root, dir)
		if err != nil || !filepath.IsLocal(short) {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// Absolute is a path of the repository, empty if it leads out.
func (t *Tree) Absolute(path string) string {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return ""
	}
	return filepath.Join(t.Root, filepath.FromSlash(path))
}

// Read reads a file by its path from the root.
func (t *Tree) Read(name string) ([]byte, bool) {
	if file := t.Absolute(path.Clean(name)); file != "" {
		t.Reads.File(file)
	}
	return t.Peek(name)
}

// Peek is Read for what need not become part of an answer.
func (t *Tree) Peek(name string) ([]byte, bool) {
	file := t.Absolute(path.Clean(name))
	if file == "" {
		return nil, false
	}
	direct, err := filepath.EvalSymlinks(file)
	if err != nil || !Inside(direct, t.Root) {
		return nil, false
	}
	content, err := render.ReadRegular(direct)
	return content, err == nil
}

// Shorten writes the paths in an error as a person knows them: where the tree lies on disk is of no interest, and
// another place each time.
func (t *Tree) Shorten(err error) error {
	return errors.New(strings.NewReplacer(t.Root+string(filepath.Separator), "", t.Root, "the repository").Replace(err.Error()))
}

// LacksSubmodule names a submodule below which a file was looked for, empty if there is none: a build that fails may have lacked
// the file.
func (t *Tree) LacksSubmodule() string {
	for _, path := range slices.Sorted(maps.Keys(t.Submodules)) {
		if t.Reads.Below(t.Absolute(path)) {
			return fmt.Sprintf("a file in the submodule %s is looked for, whose content is in another repository", path)
		}
	}
	return ""
}

// Folders implements appset.Repository.
func (t *Tree) Folders() (found []string) {
	if t.folders != nil {
		return t.folders
	}
	_ = filepath.WalkDir(t.Root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeSymlink != 0 && t.isLinkedFolder(name) {
			t.linked = append(t.linked, t.Relative(name))
		}
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // what cannot be read is not there
		}
		if strings.HasPrefix(entry.Name(), ".") && name != t.Root {
			return filepath.SkipDir
		}
		if name != t.Root {
			found = append(found, t.Relative(name))
		}
		return nil
	})
	slices.Sort(found)
	t.folders = found
	return found
}

// LinkedFolders are the symbolic links that lead to a folder of the tree. No generator finds them, while a path may name one.
func (t *Tree) LinkedFolders() []string {
	_ = t.Folders()
	return t.linked
}

func (t *Tree) isLinkedFolder(name string) bool {
	info, err := os.Stat(name)
	direct, unresolved := filepath.EvalSymlinks(name)
	return err == nil && unresolved == nil && info.IsDir() && Inside(direct, t.Root)
}

// Files implements appset.Repository.
func (t *Tree) Files(fits func(path string) bool) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := filepath.WalkDir(t.Root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular() || !fits(t.Relative(name)):
			return nil
		}
		t.Reads.File(name)
		content, err := render.ReadRegular(name)
		found[t.Relative(name)] = content
		return err
	})
	return found, err
}

// Text is a file and what it says, without comments.
type Text struct{ File, Text string }

// Texts are the files of a tree with certain names, in hidden folders, too. They are read once.
func (t *Tree) Texts(named *regexp.Regexp) []Text {
	if found, known := t.texts[named]; known {
		return found
	}
	var found []Text
	_ = t.Each(t.Dir, detect.IsOfPrograms, func(file string) error {
		if !named.MatchString(file) {
			return nil
		}
		if content, err := render.ReadRegular(file); err == nil {
			found = append(found, Text{file, detect.WithoutComments(string(content))})
		}
		return nil
	})
	t.texts[named] = found
	return found
}

// Options are what a source adds to a folder of the tree.
func (t *Tree) Options(d delivery.Source) render.Options {
	return render.Options{
		Components: d.Components, IgnoreMissingComponents: d.IgnoreMissingComponents, Labels: d.Labels, Root: t.Root,
		Patches: d.Patches, Note: t.Reads.File,
	}
}

// ChartAround is the innermost chart that a folder belongs to, empty if there is none.
func (t *Tree) ChartAround(dir string) string {
	for ; Inside(dir, t.Root); dir = filepath.Dir(dir) {
		if HasChart(dir) {
			return dir
		}
		if dir == t.Root {
			break
		}
	}
	return ""
}
