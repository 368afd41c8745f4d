package charts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
	"sigs.k8s.io/yaml"
)

// Chart is a chart with the charts that it depends on.
type Chart struct {
	// Dir is the folder that the chart was read from, absolute; empty for an archive.
	Dir string

	chart *chartv2.Chart
	// files are all that was read, by their paths in the chart.
	files []*archive.BufferedFile
}

// valuesFile has the chart's own values.
const valuesFile = "values.yaml"

// Limits of a chart on disk. Helm's own limits hold for an archive.
const (
	mostFiles = 10_000
	mostBytes = 100 << 20
)

// Folder reads a chart from a folder. Nothing is read outside of root, which is the folder of the whole repository: a
// symbolic link that leads out of it is an error, as with Argo CD. What .helmignore names is left out.
func Folder(dir, root string) (*Chart, error) {
	f := &folder{root: root, rules: ignore.Empty()}
	if content, err := f.read(filepath.Join(dir, ignore.HelmIgnore)); err == nil {
		if f.rules, err = ignore.Parse(bytes.NewReader(content)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	f.rules.AddDefaults()
	if err := f.walk(dir, "", 0); err != nil {
		return nil, err
	}
	c, err := load(f.files)
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	return c, nil
}

// Archive reads a chart that is packed as .tgz. Helm's own limits hold: 100 MiB unpacked, 5 MiB for a file.
func Archive(packed []byte) (*Chart, error) {
	files, err := archive.LoadArchiveFiles(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("it is no chart: %w", err)
	}
	return load(files)
}

func load(files []*archive.BufferedFile) (*Chart, error) {
	copied := make([]*archive.BufferedFile, len(files)) // Helm renames those of subcharts
	for i, file := range files {
		one := *file
		copied[i] = &one
	}
	loaded, err := loader.LoadFiles(copied)
	if err != nil {
		return nil, fmt.Errorf("it is no chart: %w", err)
	}
	return &Chart{chart: loaded, files: files}, nil
}

// WithDefaults is the chart with other values of its own.
func (c *Chart) WithDefaults(values map[string]any) (*Chart, error) {
	content, err := yaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(c.files), func(file *archive.BufferedFile) bool { return file.Name == valuesFile })
	other, err := load(append(files, &archive.BufferedFile{Name: valuesFile, Data: content}))
	if err != nil {
		return nil, err
	}
	other.Dir = c.Dir
	return other, nil
}

// Name is the chart's own name.
func (c *Chart) Name() string { return c.chart.Name() }

// Version is the chart's own version.
func (c *Chart) Version() string { return c.chart.Metadata.Version }

// File is the content of a file of the chart, and whether there is one.
func (c *Chart) File(name string) ([]byte, bool) {
	for _, file := range c.files {
		if file.Name == path.Clean(name) {
			return file.Data, true
		}
	}
	return nil, false
}

// Dependency is a chart that another one names and does not hold.
type Dependency struct{ Name, Version, Repository string }

// Missing are the dependencies that are not in charts/. Some of them may be switched off by the values.
func (c *Chart) Missing() []Dependency {
	var missing []Dependency
	for _, wanted := range c.chart.Metadata.Dependencies {
		if !holds(c.chart, wanted.Name) {
			missing = append(missing, c.asLocked(wanted))
		}
	}
	return missing
}

// asLocked is a dependency in the version of Chart.lock, which comes before a range of versions in Chart.yaml: `helm dependency build`, which
// Argo CD runs, and Flux fetch that.
func (c *Chart) asLocked(wanted *chartv2.Dependency) Dependency {
	asked := Dependency{Name: wanted.Name, Version: wanted.Version, Repository: wanted.Repository}
	if c.chart.Lock == nil {
		return asked
	}
	for _, locked := range c.chart.Lock.Dependencies {
		if locked.Name == wanted.Name && locked.Repository == wanted.Repository && isIn(locked.Version, wanted.Version) {
			asked.Version = locked.Version
		}
	}
	return asked
}

// isIn reports whether a version is in a range. Helm refuses a lock that is not of these dependencies.
func isIn(version, of string) bool {
	constraint, err := semver.NewConstraint(of)
	if err != nil {
		return version == of
	}
	parsed, err := semver.NewVersion(version)
	return err == nil && constraint.Check(parsed)
}

func holds(c *chartv2.Chart, name string) bool {
	for _, held := range c.Dependencies() {
		if held.Name() == name {
			return true
		}
	}
	return false
}

// With is the chart with a dependency put into it, as `helm dependency build` does. The chart itself stays as it is: it may
// be in use elsewhere.
func (c *Chart) With(dependency *Chart) (*Chart, error) {
	files := slices.Clone(c.files)
	for _, file := range dependency.files {
		one := *file
		one.Name = path.Join("charts", dependency.Name(), file.Name)
		files = append(files, &one)
	}
	whole, err := load(files)
	if err != nil {
		return nil, err
	}
	whole.Dir = c.Dir
	return whole, nil
}

// folder is a walk through the files of a chart.
type folder struct {
	root  string
	rules *ignore.Rules
	files []*archive.BufferedFile
	bytes int
}

// deepest is how many folders may lie in one another: a symbolic link may lead to a folder around it.
const deepest = 50

// walk adds what is in a folder. Symbolic links are followed, as Helm does.
func (f *folder) walk(dir, below string, depth int) error {
	if depth > deepest {
		return fmt.Errorf("%s lies too deep; look for a symbolic link that leads back", below)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		file := filepath.Join(dir, entry.Name())
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return err
		case f.rules.Ignore(name, info):
			continue
		case info.IsDir():
			if _, err := f.inside(file); err != nil {
				return err
			}
			err = f.walk(file, name, depth+1)
		default:
			err = f.add(file, name, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) add(file, name string, info fs.FileInfo) error {
	if f.bytes += int(info.Size()); len(f.files) >= mostFiles || f.bytes > mostBytes || info.Size() > archive.MaxDecompressedFileSize {
		return fmt.Errorf("the chart is too large at %s; Helm takes %d MiB, and %d MiB for a file", name, mostBytes>>20, archive.MaxDecompressedFileSize>>20)
	}
	content, err := f.read(file)
	if err != nil {
		return err
	}
	content = bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))
	f.files = append(f.files, &archive.BufferedFile{Name: name, ModTime: info.ModTime(), Data: content})
	return nil
}

func (f *folder) read(file string) ([]byte, error) {
	direct, err := f.inside(file)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(direct); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", filepath.Base(file)))
	}
	return os.ReadFile(direct)
}

// inside follows symbolic links, as far as they stay in the repository.
func (f *folder) inside(file string) (string, error) {
	direct, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(f.root)
	if err != nil {
		return "", err
	}
	if short, err := filepath.Rel(root, direct); err != nil || !filepath.IsLocal(short) {
		return "", fmt.Errorf("%s leads out of the repository", strings.TrimPrefix(file, f.root+string(filepath.Separator)))
	}
	return direct, nil
}
