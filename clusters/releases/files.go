package releases

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Files are the paths of a release's files, without those that are somebody else's; nil for a release that was named as a path.
func Files(release Release) (names []string) {
	if release.Files == nil {
		return nil
	}
	names = []string{}
	_ = fs.WalkDir(release.Files, ".", func(name string, entry fs.DirEntry, err error) error { // what cannot be read is not there
		base := path.Base(name)
		switch {
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || slices.Contains(others, base)):
			return fs.SkipDir
		case entry.Type().IsRegular():
			names = append(names, name)
		}
		return nil
	})
	return names
}

// others are folders with what is somebody else's.
var others = []string{"vendor", "node_modules", "third_party"}
