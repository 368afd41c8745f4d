package releases

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// passedOver are folders that hold CRDs of somebody else, or CRDs that are not to be installed.
var passedOver = []string{"vendor", "node_modules", "third_party", "testdata", "test", "tests", "e2e", "docs", "doc", "examples", "example", "samples", "hack", "site", "website"}

// A family is folders that hold CRDs as a rule. If one family has CRDs, the next are copies of them as a rule.
type family func(files fs.FS, folder string) bool

var families = []family{
	func(_ fs.FS, folder string) bool {
		return folder == "config/crd" || strings.HasSuffix(folder, "/config/crd")
	},
	func(files fs.FS, folder string) bool {
		return slices.Contains([]string{"crd", "crds", "300-crds"}, path.Base(folder)) && chartAround(files, folder) == ""
	},
	func(files fs.FS, folder string) bool {
		return path.Base(folder) == "crds" && chartAround(files, folder) != ""
	},
	func(_ fs.FS, folder string) bool {
		return slices.Contains([]string{"manifests", "deploy", "config", "bundle/manifests"}, folder)
	},
}

// further are folders that hold nothing but copies as a rule, or CRDs among much else.
var further = []family{
	func(files fs.FS, folder string) bool {
		return path.Base(folder) == "templates" && chartAround(files, folder) != ""
	},
	func(_ fs.FS, folder string) bool { return folder == "dist" || folder == "bundle" },
}

// candidates are the folders of each family, those inside of another one left out.
func candidates(files fs.FS, families []family) [][]string {
	found := make([][]string, len(families))
	for name, entry := range entries(files, passedOver) {
		for i, is := range families {
			within := slices.ContainsFunc(found[i], func(around string) bool { return strings.HasPrefix(name, around+"/") })
			if entry.IsDir() && !within && is(files, name) {
				found[i] = append(found[i], name)
			}
		}
	}
	return found
}
