package argocd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/words"
)

// valueFile is an entry of helm.valueFiles, or a file that one of them means.
type valueFile struct {
	// path begins at the root of the repository, or at that of a chart which is not in it.
	path    string
	inChart bool
}

// isPattern reports whether Argo CD looks for files that match. The path counts, with the chart's own folder.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/reposerver/repository/repository.go (isGlobPath)
func (v valueFile) isPattern() bool { return strings.ContainsAny(v.path, "*?[") }

// valuesOfFiles merges helm.valueFiles in their order.
func (c *chartSource) valuesOfFiles() (map[string]any, error) {
	files, err := c.valueFiles()
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, file := range files {
		content, found := c.read(file)
		if !found {
			return nil, fmt.Errorf("there is no file of values %s", file.path)
		}
		if values, err = charts.WithFile(values, file.path, content); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// valueFiles are the files that Helm gets, in their order, each once. A pattern means all files that match it, except those
// that are named themselves, which have their own place. Before Argo CD 3.4 a pattern is the name of a file.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/reposerver/repository/repository.go (getResolvedValueFiles)
func (c *chartSource) valueFiles() (files []valueFile, err error) {
	names := c.source.Texts("helm", "valueFiles")
	entries, explicit := make([]valueFile, len(names)), map[valueFile]bool{}
	for i, name := range names {
		if entries[i], err = c.locate(name); err != nil {
			return nil, err
		}
		explicit[entries[i]] = !entries[i].isPattern()
	}
	for i, entry := range entries {
		meant := []valueFile{entry}
		if entry.isPattern() {
			meant, err = c.matching(entry, names[i])
			meant = slices.DeleteFunc(meant, func(v valueFile) bool { return explicit[v] })
		} else if c.source.True("helm", "ignoreMissingValueFiles") && !c.exists(entry) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, file := range meant {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// file reads a file of values or parameters.
func (c *chartSource) file(name string) ([]byte, error) {
	file, err := c.locate(name)
	if err == nil && file.isPattern() {
		err = fmt.Errorf("the files %s are a pattern", name)
	}
	content, found := c.read(file)
	if err == nil && !found {
		err = fmt.Errorf("there is no file %s", name)
	}
	return content, err
}

func (c *chartSource) read(file valueFile) ([]byte, bool) {
	if file.inChart {
		return c.File(file.path)
	}
	return c.tree.Read(file.path)
}

// exists is about whatever is there, be it a folder or a link that leads out: these are not missing, and Helm fails.
func (c *chartSource) exists(file valueFile) bool {
	if file.inChart {
		_, found := c.File(file.path)
		return found
	}
	_, err := os.Lstat(c.tree.Absolute(file.path))
	return !errors.Is(err, fs.ErrNotExist)
}

// locate finds out where an entry leads: into the chart, into the repository if it begins with a slash, or into another
// source if it begins with $name/. Why it cannot be known is the error.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/util/io/path/resolved.go (ResolveValueFilePathOrUrl)
func (c *chartSource) locate(written string) (valueFile, error) {
	name, lent := written, false
	if reference, rest, _ := strings.Cut(name, "/"); strings.HasPrefix(reference, "$") && !strings.HasPrefix(reference, "$ARGOCD_") {
		if err := c.isOurs(strings.TrimPrefix(reference, "$")); err != nil {
			return valueFile{}, err
		}
		name, lent = "/"+rest, true
	}
	name, err := c.expanded(name)
	switch {
	case err != nil:
		return valueFile{}, err
	case strings.Contains(name, "{{"):
		return valueFile{}, fmt.Errorf("the file %s is a template", written)
	case strings.Contains(name, "://"):
		return valueFile{}, fmt.Errorf("the file %s is not in this repository", written)
	case c.dir == "" && !lent:
		return valueFile{path.Clean(strings.TrimLeft(name, "/")), true}, nil
	case !strings.HasPrefix(name, "/"):
		name = path.Join(c.tree.Relative(c.dir), name)
	}
	resolved, err := delinked(c.tree, path.Clean(strings.TrimLeft(name, "/")))
	if err != nil {
		return valueFile{}, fmt.Errorf("the file %s: %w", written, err)
	}
	return valueFile{resolved, false}, nil
}

// delinked follows a symbolic link to what it leads to, by the path from the root. Links on the way stay.
func delinked(t *files.Tree, name string) (string, error) {
	for range files.MostLinks + 1 {
		if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
			return "", errors.New("it is outside of the repository")
		}
		target, err := os.Readlink(t.Absolute(name))
		switch {
		case err != nil:
			return name, nil //nolint:nilerr // it is no link, or it is not there
		case path.IsAbs(filepath.ToSlash(target)):
			return "", errors.New("it is a symbolic link out of the repository")
		}
		name = path.Join(path.Dir(name), filepath.ToSlash(target))
	}
	return "", errors.New("its symbolic links lead to too many others")
}

// matching are the files that match a pattern, in lexical order, as the library finds them that Argo CD uses.
func (c *chartSource) matching(pattern valueFile, written string) ([]valueFile, error) {
	if pattern.inChart {
		return nil, fmt.Errorf("the files %s of a chart from elsewhere are a pattern", written)
	}
	base, _ := doublestar.SplitPattern(pattern.path)
	for _, submodule := range slices.Sorted(maps.Keys(c.tree.Submodules)) {
		if files.Inside(submodule, base) || files.Inside(base, submodule) {
			return nil, fmt.Errorf("the files %s may be in the submodule %s", written, submodule)
		}
	}
	root, err := os.OpenRoot(c.tree.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	// It is an error to look outside of the repository, or where symbolic links lead back.
	found, err := doublestar.Glob(root.FS(), pattern.path, doublestar.WithFailOnIOErrors())
	if err != nil {
		return nil, fmt.Errorf("the files %s: %w", written, err)
	}
	if len(found) == 0 && !c.source.True("helm", "ignoreMissingValueFiles") {
		return nil, fmt.Errorf("there are no files of values %s", written)
	}
	return words.Of(found, func(name string) valueFile { return valueFile{name, false} }), nil
}
