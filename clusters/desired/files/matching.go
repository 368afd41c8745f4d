package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// open is a part of a path that may be anything: of a pattern, a template or a variable.
var open = regexp.MustCompile(`\{\{.*?\}\}|\$\{[^}]*\}|\$\w+|\[[^\]]*\]|\{[^}]*\}|[*?{$\[]`)

// Matching are the files that a path with open parts may mean, as seen from a folder, by absolute paths. Where the path begins with such a
// part, it may lead to any folder.
func (t *Tree) Matching(below, pattern string) (found []string) {
	pattern = path.Clean(pattern)
	for strings.HasPrefix(pattern, "../") {
		pattern, below = strings.TrimPrefix(pattern, "../"), ""
	}
	var fits strings.Builder
	from := 0
	for _, at := range open.FindAllStringIndex(pattern, -1) {
		fits.WriteString(regexp.QuoteMeta(pattern[from:at[0]]) + ".*")
		from = at[1]
	}
	fits.WriteString(regexp.QuoteMeta(pattern[from:]) + "$")
	start := "^" + regexp.QuoteMeta(filepath.ToSlash(below)+"/")
	if below == "" || strings.HasPrefix(fits.String(), ".*") {
		start = ""
	}
	named := regexp.MustCompile(start + fits.String())
	for _, file := range t.all() {
		if named.MatchString(filepath.ToSlash(file)) {
			found = append(found, file)
		}
	}
	return found
}

// all are the files of the repository, by absolute paths.
func (t *Tree) all() []string {
	if t.names != nil {
		return t.names
	}
	t.names = []string{}
	_ = filepath.WalkDir(t.Root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case err == nil && !entry.IsDir():
			t.names = append(t.names, file)
		}
		return nil
	})
	return t.names
}
