package detect

import (
	"path/filepath"
	"slices"
	"strings"
)

// forReading are names of folders from which no cluster gets anything.
var forReading = []string{"doc", "docs", "example", "examples", "sample", "samples", "test", "tests", "testdata", "e2e", "vendor", "node_modules"}

// IsForReading is for such folders.
func IsForReading(name string) bool { return slices.Contains(forReading, name) }

// ForReading reports whether a file lies in such a folder, or in a hidden one, below another folder.
func ForReading(below, file string) bool {
	short, err := filepath.Rel(below, filepath.Dir(file))
	return err == nil && slices.ContainsFunc(strings.Split(filepath.ToSlash(short), "/"), func(folder string) bool {
		return IsForReading(folder) || IsHidden(folder) && filepath.IsLocal(folder) && folder != "."
	})
}

// IsNotApplied is for folders that no tool applies: hidden ones, as with Flux, and those whose manifests are a program's own.
func IsNotApplied(name string) bool {
	return IsHidden(name) || slices.Contains(notApplied, name)
}

// notApplied are names of folders whose manifests are a program's own input, or another project's.
var notApplied = []string{"testdata", "vendor", "node_modules"}

// IsOfPrograms is for folders that programs keep for themselves.
func IsOfPrograms(name string) bool {
	return slices.Contains([]string{".git", ".terraform", ".terragrunt-cache", ".devcontainer", "node_modules"}, name)
}

// IsHidden is for folders that tools pass over. In .helm, werf has its chart.
func IsHidden(name string) bool { return strings.HasPrefix(name, ".") && name != ".helm" }
