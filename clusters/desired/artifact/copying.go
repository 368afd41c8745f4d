package artifact

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
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
func (c copying) files(from Source, into *Artifact) error {
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
func (c copying) one(from Source, name string, into *Artifact) error {
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

func (c copying) fileOrFolder(from Source, name, base, target string, into *Artifact) error {
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

func (c copying) file(from Source, name, target string, into *Artifact) error {
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

// unpacks is the strategy for archives.
const unpacks = "Extract"

// copyingOf takes an operation apart.
func copyingOf(operation *delivery.Object) (copying, error) {
	c := copying{exclude: operation.Texts("exclude"), merge: operation.Text("strategy") == "Merge"}
	from, aliased := strings.CutPrefix(operation.Text("from"), "@")
	to, inArtifact := strings.CutPrefix(operation.Text("to"), "@artifact/")
	alias, pattern, found := strings.Cut(from, "/")
	c.alias, c.pattern, c.to = alias, pattern, to
	switch strategy := operation.Text("strategy"); {
	case !aliased || !found || !inArtifact:
		return c, fmt.Errorf("nothing can be copied from %s to %s", operation.Text("from"), operation.Text("to"))
	case to != "" && !filepath.IsLocal(filepath.FromSlash(to)):
		return c, fmt.Errorf("%s leads out of the artifact", operation.Text("to"))
	case !slices.Contains([]string{"", "Overwrite", "Merge", unpacks}, strategy):
		return c, fmt.Errorf("what the strategy %s does is not known", strategy)
	}
	for _, pattern := range c.exclude {
		if !doublestar.ValidatePattern(pattern) {
			return c, fmt.Errorf("%s is no pattern", pattern)
		}
	}
	return c, nil
}

// ScopeOf is how much of the repository may decide about what a generator makes.
func ScopeOf(generator *delivery.Object) files.Scope {
	for _, one := range generator.Entries("spec", "artifacts") {
		for _, operation := range one.Entries("copy") {
			from, to := path.Ext(operation.Text("from")), path.Ext(operation.Text("to"))
			if operation.Text("strategy") == unpacks || !strings.HasSuffix(operation.Text("to"), "/") && to != "" && from != to {
				return files.Everything
			}
		}
	}
	return files.Data
}
