package detect

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// forReading are names of folders from which no cluster gets anything, and so are forTests.
var (
	forReading = []string{"doc", "docs", "example", "examples", "sample", "samples"}
	forTests   = []string{"test", "tests", "e2e"}
)

// IsForReading is for such a folder. An environment may have such a name, too: in a folder for these, or if it is called test or e2e, beside others.
func IsForReading(dir string) bool {
	switch name := filepath.Base(dir); {
	case slices.Contains(forTests, name):
		return !isEnvironment(dir)
	case slices.Contains(forReading, name):
		return !slices.Contains(environments, filepath.Base(filepath.Dir(dir)))
	default:
		return slices.Contains(notApplied, name)
	}
}

var (
	environment  = regexp.MustCompile(`^(?:.*[-_.])?(?:dev|develop|development|stg|stage|staging|prod|prd|production|preprod|uat|qa|ithc|sbox|sandbox|live)(?:[-_.\d].*)?$`)
	environments = []string{"clusters", "cluster", "envs", "environments", "overlays", "stages", "instances"}
	// siblings are the names beside a folder, so that each is read once. A tree does not change while it is looked at.
	siblings sync.Map
)

func isEnvironment(dir string) bool {
	around := filepath.Dir(dir)
	if known, found := siblings.Load(around); found {
		is, _ := known.(bool)
		return is
	}
	entries, _ := os.ReadDir(around) // none if it is not on this side
	is := slices.Contains(environments, filepath.Base(around)) || slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return entry.IsDir() && environment.MatchString(entry.Name())
	})
	siblings.Store(around, is)
	return is
}

// ForReading reports whether a file lies in such a folder, or in a hidden one, below another folder. Both are absolute.
func ForReading(below, file string) bool {
	short, err := filepath.Rel(below, filepath.Dir(file))
	if err != nil {
		return false
	}
	dir := below
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(short), "/"), func(folder string) bool {
		dir = filepath.Join(dir, folder)
		return IsForReading(dir) || IsHidden(folder) && filepath.IsLocal(folder) && folder != "."
	})
}

// IsNotApplied is for folders that no tool applies: hidden ones, as with Flux, and those whose manifests are a program's own.
func IsNotApplied(name string) bool {
	return IsHidden(name) || slices.Contains(notApplied, name)
}

// Environments are the folders on a path that are called after environments.
func Environments(path string) (found []string) {
	for _, folder := range strings.Split(path, "/") {
		if environment.MatchString(folder) {
			found = append(found, folder)
		}
	}
	return found
}

// notApplied are names of folders whose manifests are a program's own input, or another project's.
var notApplied = []string{"testdata", "vendor", "node_modules"}

// IsOfPrograms is for folders that programs keep for themselves.
func IsOfPrograms(name string) bool {
	return slices.Contains([]string{".git", ".terraform", ".terragrunt-cache", ".devcontainer", "node_modules"}, name)
}

// IsHidden is for folders that tools pass over. In .helm, werf has its chart.
func IsHidden(name string) bool { return strings.HasPrefix(name, ".") && name != ".helm" }
