package files

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/moult-dev/moult/clusters/render"
)

// Scope is how much of the repository decides about what cannot be seen, each more than the one before.
type Scope int

const (
	// Named: only what is named.
	Named Scope = iota
	// Wires: whatever folder is applied, so kustomizations, charts with their values, and files that speak of CRDs, of
	// gates, or of what Flux and Argo CD apply.
	Wires
	// Data: any file may be read as values or parameters, but no program's text and no README.
	Data
	// Everything: whatever there is.
	Everything
)

// Repository stands for as much of the repository as is asked for.
func (t *Tree) Repository(much Scope) string {
	if known := t.sums[much]; known != "" {
		return known
	}
	d := t.NewDigest()
	_ = filepath.WalkDir(t.Root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			d.Write("error", t.Relative(path))
		case entry.Name() == ".git": // in a worktree it is a file
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case !entry.IsDir() && much.has(path):
			content, err := render.ReadRegular(path)
			if err != nil || much > Wires || isWiring(path) || speaksOfCRDs(content) {
				t.Reads.Stands(path)
				d.Write(t.Relative(path), string(content))
			}
		}
		return nil
	})
	t.sums[much] = d.Sum()
	return t.sums[much]
}

// has reports whether a file may belong to it, by its name.
func (s Scope) has(path string) bool {
	switch s {
	case Named:
		return false
	case Wires:
		return slices.Contains([]string{".yaml", ".yml", ".json", ".tpl"}, filepath.Ext(path)) || isWiring(path)
	case Data:
		return IsData(path) || isWiring(path)
	case Everything:
	}
	return true
}

// MayWire reports whether a file belongs to Wires.
func MayWire(path string, content []byte) bool {
	return Wires.has(path) && (isWiring(path) || speaksOfCRDs(content))
}

// IsData reports whether a file may be read for values, by Helm, by a generator or by jsonnet.
func IsData(path string) bool {
	return slices.Contains([]string{
		".yaml", ".yml", ".json", ".tpl", ".gotmpl", ".txt", ".toml", ".ini", ".conf", ".env", ".properties", ".jsonnet", ".libsonnet",
	}, filepath.Ext(path))
}

func isWiring(path string) bool {
	name := filepath.Base(path)
	return name == ChartFile || strings.HasPrefix(name, "values") || slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

func speaksOfCRDs(content []byte) bool {
	for _, word := range []string{"CustomResourceDefinition", "VersionRemoval", "argoproj.io/", ".fluxcd.io/"} {
		if bytes.Contains(content, []byte(word)) {
			return true
		}
	}
	return false
}
