package desired

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/moult-dev/moult/clusters/render"
)

// scope is how much of the repository decides about what cannot be seen, each more than the one before.
type scope int

const (
	// named: only what is named.
	named scope = iota
	// wires: whatever folder is applied, so kustomizations, charts with their values, and files that speak of CRDs, of
	// gates, or of what Flux and Argo CD apply.
	wires
	// data: any file may be read as values or parameters, but no program's text and no README.
	data
	// everything: whatever there is.
	everything
)

// all stands for as much of the repository as is asked for.
func (f *follower) all(much scope) string {
	if known := f.repository[much]; known != "" {
		return known
	}
	p := &fingerprint{follower: f, sum: sha256.New(), files: map[string]bool{}}
	_ = filepath.WalkDir(f.tree.Root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			p.write("error", f.tree.Relative(path))
		case entry.Name() == ".git": // in a worktree it is a file
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case !entry.IsDir() && much.has(path):
			content, err := render.ReadRegular(path)
			if err != nil || much > wires || isWiring(path) || speaksOfCRDs(content) {
				f.tree.Reads.File(path)
				p.write(f.tree.Relative(path), string(content))
			}
		}
		return nil
	})
	if f.repository == nil {
		f.repository = map[scope]string{}
	}
	f.repository[much] = hex.EncodeToString(p.sum.Sum(nil))
	return f.repository[much]
}

// has reports whether a file may belong to it, by its name.
func (s scope) has(path string) bool {
	switch s {
	case named:
		return false
	case wires:
		return slices.Contains([]string{".yaml", ".yml", ".json", ".tpl"}, filepath.Ext(path)) || isWiring(path)
	case data:
		return isData(path) || isWiring(path)
	case everything:
	}
	return true
}

// isData reports whether a file may be read for values, by Helm, by a generator or by jsonnet.
func isData(path string) bool {
	return slices.Contains([]string{
		".yaml", ".yml", ".json", ".tpl", ".gotmpl", ".txt", ".toml", ".ini", ".conf", ".env", ".properties", ".jsonnet", ".libsonnet",
	}, filepath.Ext(path))
}

func isWiring(path string) bool {
	name := filepath.Base(path)
	return name == "Chart.yaml" || strings.HasPrefix(name, "values") || slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}

func speaksOfCRDs(content []byte) bool {
	for _, word := range []string{"CustomResourceDefinition", "VersionRemoval", "argoproj.io/", ".fluxcd.io/"} {
		if bytes.Contains(content, []byte(word)) {
			return true
		}
	}
	return false
}
