// Package artifact puts together what an ArtifactGenerator makes of repositories, as Flux's source-watcher does.
package artifact

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Artifact is made of files of one or more sources, in a folder of its own.
type Artifact struct {
	// Dir is its folder.
	Dir  string
	root *os.Root
	// from are the files of this repository, absolute, by their paths in the artifact; what was merged has none.
	from map[string]string
	// Lacks are the paths of the artifact at and below which files of other sources may lie.
	Lacks []string
	// Why is the first reason for that.
	Why string
	// Elsewhere are the addresses of other repositories of which there is something in it.
	Elsewhere []string
	// room is how many bytes may still be written.
	room int64
}

// Stage puts an artifact together in an empty folder, by the operations of its generator, without what comes from sources that cannot be
// read. The source of an alias is asked for once for each operation.
// https://github.com/fluxcd/source-watcher/blob/main/internal/builder/builder.go
func Stage(dir string, operations []*delivery.Object, source func(alias string) (Source, error)) (*Artifact, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	a := &Artifact{Dir: dir, root: root, from: map[string]string{}, room: mostInArtifact}
	for _, operation := range operations {
		if err := a.carryOut(operation, source); err != nil {
			return nil, err
		}
	}
	return a, a.pack()
}

// carryOut does what one operation says.
func (a *Artifact) carryOut(operation *delivery.Object, source func(alias string) (Source, error)) error {
	c, err := copyingOf(operation)
	if err != nil {
		return err
	}
	from, err := source(c.alias)
	if other, is := errors.AsType[*OtherSourceError](err); is {
		a.Lacks, a.Why = append(a.Lacks, path.Clean(c.to)), cmp.Or(a.Why, other.Why)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.root.Close() }()
	if from.address != "" {
		a.Elsewhere = append(a.Elsewhere, from.address)
	}
	if operation.Text("strategy") == unpacks {
		return fmt.Errorf("%s is unpacked", operation.Text("from"))
	}
	return c.files(from, a)
}

// OtherSourceError says why the files of a source cannot be read here.
type OtherSourceError struct{ Why string }

// Error is why.
func (e *OtherSourceError) Error() string { return e.Why }

// mostInArtifact is how many bytes an artifact may have, so that no manifest makes a preview fill a disk.
const mostInArtifact = 256 << 20

// aFile is what a file counts at least.
const aFile = 4 << 10

// write copies a file.
func (a *Artifact) write(from Source, name, target string) error {
	content, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	a.from[target] = ""
	if from.address == "" {
		a.from[target] = filepath.Join(from.root.Name(), filepath.FromSlash(name))
	}
	return a.put(target, content)
}

func (a *Artifact) put(target string, content []byte) error {
	if a.room -= aFile + int64(len(content)); a.room < 0 {
		return fmt.Errorf("it has more than %d MiB", mostInArtifact>>20)
	}
	target = filepath.FromSlash(target)
	if err := a.root.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return a.root.WriteFile(target, content, 0o600)
}

// merge puts the values of a file over those of one that is there.
func (a *Artifact) merge(from Source, name, target string) error {
	above, err := valuesIn(from, name)
	if err != nil {
		return err
	}
	below, err := valuesIn(a.root.FS(), target)
	if err != nil {
		return err
	}
	content, err := yaml.Marshal(charts.Merge(below, above))
	if err != nil {
		return err
	}
	a.from[target] = ""
	return a.put(target, content)
}

// valuesIn are those of a YAML file, whose documents are each put over the one before.
func valuesIn(files fs.FS, name string) (map[string]any, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	values, err := charts.ParseValues(content)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be merged: %w", name, err)
	}
	return values, nil
}

// pack leaves out what is ignored in an artifact.
func (a *Artifact) pack() error {
	for file := range a.from {
		parts := strings.Split(file, "/")
		if !inArtifact.Match(parts, false) && !ofGit.Match(parts, false) {
			continue
		}
		delete(a.from, file)
		if err := a.root.Remove(filepath.FromSlash(file)); err != nil {
			return err
		}
	}
	return nil
}

// MayLack reports whether files of another source may lie in a folder of the artifact, or over those that are there.
func (a *Artifact) MayLack(at string) bool {
	return slices.ContainsFunc(a.Lacks, func(to string) bool {
		return files.Inside(at, to) || files.Inside(to, at) || slices.ContainsFunc(slices.Collect(maps.Keys(a.from)), func(file string) bool { return files.Inside(file, to) || files.Inside(to, file) })
	})
}

// Dirs are the folders that a folder of the artifact is made of.
func (a *Artifact) Dirs(at string) []string {
	found := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(a.from)) {
		if files.Inside(file, at) {
			below := strings.TrimPrefix(strings.TrimPrefix(file, at), "/")
			if dir, whole := strings.CutSuffix(filepath.ToSlash(a.from[file]), "/"+below); whole {
				found[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Place is one in the file of this repository that a file of the artifact was copied from.
func (a *Artifact) Place(at finding.Place) finding.Place {
	short, err := filepath.Rel(a.Dir, at.File)
	if err != nil || !filepath.IsLocal(short) || a.from[path.Clean(filepath.ToSlash(short))] == "" {
		return finding.Place{}
	}
	at.File = a.from[path.Clean(filepath.ToSlash(short))]
	return at
}
