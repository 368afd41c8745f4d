package files

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Has reports whether there is a file in a folder.
func Has(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && !info.IsDir()
}

// IsSubchart reports whether a chart is installed as part of the one around it.
func IsSubchart(dir string) bool {
	return filepath.Base(filepath.Dir(dir)) == "charts" && HasChart(filepath.Dir(filepath.Dir(dir)))
}

// ChartFile is the file that makes a folder a chart.
const ChartFile = "Chart.yaml"

// HasChart reports whether a folder is a chart.
func HasChart(dir string) bool { return Has(dir, ChartFile) }

// IsTemplateOfChart reports whether a file lies below templates/ of a chart: what Helm makes of it is applied, and not the file.
func IsTemplateOfChart(file string) bool {
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "templates" && HasChart(filepath.Dir(dir)) {
			return true
		}
	}
	return false
}

// Inside reports whether a path is a folder, or below it.
func Inside(path, folder string) bool {
	short, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(short)
}

// IsLink reports whether a path below the root is a symbolic link: source-controller puts files and folders into an artifact, and
// nothing else (Storage.Archive of fluxcd/pkg/artifact).
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// In are the files below a folder, none if there is no such folder.
func In(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, file)
		}
		return nil
	})
	return files
}

// Loosely writes an entry point that is the manifests of a folder itself, as they lie there, and none of a folder below: apps/*.
func Loosely(folder string) string { return path.Join(folder, "*") }

// IsLoose reports whether an entry point is such a folder, and which.
func IsLoose(entry string) (folder string, loose bool) {
	if path.Base(entry) != "*" {
		return entry, false
	}
	return path.Dir(entry), true
}
