package scan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
)

// loose are the folders of changed manifests that install something, and that no kustomization and no chart is around. A person may apply
// them as they lie there, and so may a tool that the repository does not name. A kustomization around them shows what is applied. Each is an
// entry point without the folders below it, as files.Loosely writes it.
func loose(t *files.Tree, changed []string) (found []string) {
	for _, file := range changed {
		dir := filepath.Dir(file)
		short, err := filepath.Rel(t.Dir, dir)
		if err != nil || !filepath.IsLocal(short) || !detect.IsManifest(filepath.Base(file)) || detect.ForReading(t.Dir, file) {
			continue
		}
		if slices.ContainsFunc(strings.Split(filepath.ToSlash(short), "/"), isPassedOver) || t.ChartAround(dir) != "" || isKustomized(dir, t.Root) {
			continue
		}
		if entry := files.Loosely(filepath.ToSlash(short)); !slices.Contains(found, entry) && installsFrom(dir) {
			found = append(found, entry)
		}
	}
	return found
}

func isPassedOver(name string) bool { return name != "." && detect.IsNotApplied(name) }

// isKustomized reports whether there is a kustomization in a folder, or in one around it.
func isKustomized(dir, root string) bool {
	for ; files.Inside(dir, root); dir = filepath.Dir(dir) {
		if render.KustomizationIn(dir) != "" {
			return true
		}
		if dir == root {
			break
		}
	}
	return false
}

// installsFrom reports whether manifests in a folder itself install something, or give a program the right to do so.
func installsFrom(dir string) bool {
	entries, _ := os.ReadDir(dir) // none if it is not on this side
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		return entry.Type().IsRegular() && detect.IsManifest(entry.Name()) && mayBring(filepath.Join(dir, entry.Name()))
	})
}

// mayBring reports whether a file holds what installs something, or gives a program the right to do so.
func mayBring(file string) bool {
	content, err := render.ReadRegular(file)
	return err == nil && (detect.Tool.Match(content) || mayInstall(file, content) || detect.GrantsCRDs(content))
}
