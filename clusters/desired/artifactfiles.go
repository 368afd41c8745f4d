package desired

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/moult-dev/moult/clusters/desired/files"
)

// sourceFiles are the files of a Git repository that source-controller hands on: without what it ignores, and without links.
// https://github.com/fluxcd/pkg/blob/main/artifact/storage/archive.go
type sourceFiles struct {
	root    *os.Root
	ignored func(path string, isDir bool) bool // by absolute paths
	// ours reports whether it is this repository, so that a file of it has a place.
	ours bool
}

// Open implements fs.FS.
func (s sourceFiles) Open(name string) (fs.File, error) {
	if !s.has(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return s.root.Open(name)
}

// Stat implements fs.StatFS.
func (s sourceFiles) Stat(name string) (fs.FileInfo, error) {
	if !s.has(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return s.root.Stat(name)
}

// ReadDir implements fs.ReadDirFS.
func (s sourceFiles) ReadDir(name string) (found []fs.DirEntry, err error) {
	if !s.has(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	entries, err := fs.ReadDir(s.root.FS(), name)
	for _, entry := range entries {
		if s.has(path.Join(name, entry.Name())) {
			found = append(found, entry)
		}
	}
	return found, err
}

// has reports whether a file or folder is handed on. A folder that is ignored is there if a file below it is not.
func (s sourceFiles) has(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	if name == "." {
		return true
	}
	parts := strings.Split(name, "/")
	for i := range parts[:len(parts)-1] { // a link on the way is none of its folders
		if info, err := s.root.Lstat(path.Join(parts[:i+1]...)); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := s.root.Lstat(name)
	switch {
	case err != nil || !info.IsDir() && !info.Mode().IsRegular() || ofGit.Match(parts, info.IsDir()):
		return false
	case !s.ignored(filepath.Join(s.root.Name(), name), info.IsDir()):
		return true
	case !info.IsDir():
		return false
	}
	entries, _ := fs.ReadDir(s.root.FS(), name)
	for _, entry := range entries {
		if s.has(path.Join(name, entry.Name())) {
			return true
		}
	}
	return false
}

// ofGit is what is never handed on, and inArtifact what is not in an artifact of source-watcher either.
var (
	ofGit      = gitignore.NewMatcher(files.PatternsIn([]byte(".git/\n.git\n.gitignore\n.gitmodules\n.gitattributes\n"), nil))
	inArtifact = gitignore.NewMatcher(files.PatternsIn([]byte(files.IgnoredByDefault), nil))
)

// copying is an operation that puts files of a source into an artifact.
// https://github.com/fluxcd/source-watcher/blob/main/docs/spec/v1beta1/artifactgenerators.md
type copying struct {
	alias, pattern string
	// to is a path in the artifact; a file goes into it if it ends with a slash.
	to      string
	exclude []string
	merge   bool
}

// files puts those into an artifact that an operation brings. Whatever its generator would fail of is an error.
func (c copying) files(from sourceFiles, into *staging) error {
	if !strings.ContainsAny(c.pattern, "*?[]") {
		return c.one(from, path.Clean(c.pattern), into)
	}
	matches, err := fs.Glob(from, c.pattern) // ** is *, and brings a folder with all below
	if err != nil {
		return fmt.Errorf("%s is no pattern: %w", c.pattern, err)
	}
	base, brought := c.literal(), 0
	for _, match := range matches {
		if match == "." || c.excludes(match, base) {
			continue
		}
		brought++
		target := path.Join(c.to, match)
		if folder, all := strings.CutSuffix(c.pattern, "/**"); all {
			if below, found := strings.CutPrefix(match, folder+"/"); found {
				target = path.Join(c.to, below)
			}
		}
		if err := c.fileOrFolder(from, match, base, target, into); err != nil {
			return err
		}
	}
	if brought == 0 {
		return fmt.Errorf("no file of this repository is %s", c.pattern)
	}
	return nil
}

// one brings a file or a folder that is named. A folder keeps its name.
func (c copying) one(from sourceFiles, name string, into *staging) error {
	info, err := from.Stat(name)
	if err != nil {
		return fmt.Errorf("there is no file or folder %s", name)
	}
	if info.IsDir() {
		return c.fileOrFolder(from, name, name, path.Join(c.to, path.Base(name)), into)
	}
	if c.excludes(name, ".") {
		return nil
	}
	target := path.Clean(c.to)
	if there, err := into.root.Stat(filepath.FromSlash(target)); strings.HasSuffix(c.to, "/") || c.to == "" || err == nil && there.IsDir() {
		target = path.Join(target, path.Base(name))
	}
	if path.Ext(target) != path.Ext(name) {
		return fmt.Errorf("%s becomes another kind of file", name) // whether its content is here depends on its name
	}
	return c.file(from, name, target, into)
}

func (c copying) fileOrFolder(from sourceFiles, name, base, target string, into *staging) error {
	info, err := from.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return c.file(from, name, target, into)
	}
	return fs.WalkDir(from, name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != name && c.excludes(path, base):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		below, err := filepath.Rel(name, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, below)
		if entry.IsDir() {
			return into.root.MkdirAll(to, 0o700)
		}
		return into.write(from, path, filepath.ToSlash(to)) // what lies in folders is not merged
	})
}

func (c copying) file(from sourceFiles, name, target string, into *staging) error {
	if _, err := into.root.Stat(filepath.FromSlash(target)); c.merge && err == nil {
		return into.merge(from, name, target)
	}
	return into.write(from, name, target)
}

// literal is what comes before the first segment with a wildcard.
func (c copying) literal() string {
	var parts []string
	for part := range strings.SplitSeq(path.Clean(c.pattern), "/") {
		if strings.ContainsAny(part, "*?[]") {
			break
		}
		parts = append(parts, part)
	}
	return path.Join(append([]string{"."}, parts...)...)
}

// excludes reports whether a file or folder is left out: by its path from the root or from a base, or by its name for
// patterns without a slash.
func (c copying) excludes(name, base string) bool {
	paths := []string{name}
	if below, found := strings.CutPrefix(name, base+"/"); found {
		paths = append(paths, below)
	}
	for _, pattern := range c.exclude {
		for _, one := range paths {
			if doublestar.MatchUnvalidated(pattern, one) || !strings.Contains(pattern, "/") && doublestar.MatchUnvalidated(pattern, path.Base(one)) {
				return true
			}
		}
	}
	return false
}
