package releases

import (
	"io/fs"
	"iter"
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
	for name, entry := range entries(release.Files, others) {
		if entry.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names
}

// entries are the files and folders of a release, but for hidden folders and those that are passed over. What cannot be read is not there.
func entries(files fs.FS, passed []string) iter.Seq2[string, fs.DirEntry] {
	return func(yield func(string, fs.DirEntry) bool) {
		_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			base := path.Base(name)
			switch {
			case err != nil, entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || slices.Contains(passed, base)):
				return fs.SkipDir
			case !yield(name, entry):
				return fs.SkipAll
			}
			return nil
		})
	}
}

// others are folders with what is somebody else's.
var others = []string{"vendor", "node_modules", "third_party"}
