package render

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/policies/unpacking"
)

// Local are the files and folders of a repository that the kustomization of a folder may be built of, by absolute paths:
// the folder itself, and whatever is there of all that a kustomization names, and so on. It is more than Kustomize reads
// rather than less. Nothing outside of root is among them.
func Local(dir, root string) []string {
	found := map[string]bool{dir: true}
	for next := []string{dir}; len(next) > 0; {
		named := namedBy(next[0], root)
		next = next[1:]
		for _, path := range named {
			if !found[path] {
				found[path] = true
				next = append(next, path)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// namedBy are the paths in root that stand anywhere in the kustomization of a folder; none for what has none.
func namedBy(dir, root string) []string {
	file := KustomizationIn(dir)
	if file == "" {
		return nil
	}
	content, err := ReadRegular(file)
	if err != nil {
		return nil
	}
	var read any
	if unpacking.Bounded(content) != nil || yaml.Unmarshal(content, &read) != nil {
		return nil
	}
	var paths []string
	for _, text := range texts(read) {
		_, behind, _ := strings.Cut(text, "=") // a generator's file may have a key before it
		for _, name := range []string{text, behind} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if short, err := filepath.Rel(root, path); name == "" || err != nil || !filepath.IsLocal(short) {
				continue
			}
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// texts are all strings of a value but the keys.
func texts(value any) (found []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			found = append(found, texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			found = append(found, texts(item)...)
		}
	}
	return found
}
