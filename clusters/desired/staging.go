package desired

import (
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
	"github.com/moult-dev/moult/policies/finding"
)

// staging is an artifact that is being put together, in a folder of its own.
type staging struct {
	dir  string
	root *os.Root
	// from are the files of this repository, absolute, by their paths in the artifact; what was merged has none.
	from map[string]string
	// lacks are the paths of the artifact at and below which files of other sources may lie.
	lacks []string
	// why is the first reason for that.
	why string
	// elsewhere are the addresses of other repositories of which there is something in it.
	elsewhere []string
	// room is how many bytes may still be written.
	room int64
}

// mostInArtifact is how many bytes an artifact may have, so that no manifest makes a preview fill a disk.
const mostInArtifact = 256 << 20

// aFile is what a file counts at least.
const aFile = 4 << 10

// write copies a file.
func (s *staging) write(from sourceFiles, name, target string) error {
	content, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	s.from[target] = ""
	if from.ours {
		s.from[target] = filepath.Join(from.root.Name(), filepath.FromSlash(name))
	}
	return s.put(target, content)
}

func (s *staging) put(target string, content []byte) error {
	if s.room -= aFile + int64(len(content)); s.room < 0 {
		return fmt.Errorf("it has more than %d MiB", mostInArtifact>>20)
	}
	target = filepath.FromSlash(target)
	if err := s.root.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return s.root.WriteFile(target, content, 0o600)
}

// merge puts the values of a file over those of one that is there.
func (s *staging) merge(from sourceFiles, name, target string) error {
	above, err := valuesIn(from, name)
	if err != nil {
		return err
	}
	below, err := valuesIn(s.root.FS(), target)
	if err != nil {
		return err
	}
	content, err := yaml.Marshal(charts.Merge(below, above))
	if err != nil {
		return err
	}
	s.from[target] = ""
	return s.put(target, content)
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
func (s *staging) pack() error {
	for file := range s.from {
		parts := strings.Split(file, "/")
		if !inArtifact.Match(parts, false) && !ofGit.Match(parts, false) {
			continue
		}
		delete(s.from, file)
		if err := s.root.Remove(filepath.FromSlash(file)); err != nil {
			return err
		}
	}
	return nil
}

// mayLack reports whether files of another source may lie in a folder of the artifact, or over those that are there.
func (s *staging) mayLack(at string) bool {
	return slices.ContainsFunc(s.lacks, func(to string) bool {
		return isBelow(at, to) || isBelow(to, at) || slices.ContainsFunc(slices.Collect(maps.Keys(s.from)), func(file string) bool { return isBelow(file, to) || isBelow(to, file) })
	})
}

// isBelow reports whether a path of an artifact is another one or below it.
func isBelow(at, folder string) bool {
	return folder == "." || at == folder || strings.HasPrefix(at, folder+"/")
}

// dirs are the folders that a folder of the artifact is made of.
func (s *staging) dirs(at string) []string {
	found := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(s.from)) {
		if isBelow(file, at) {
			below := strings.TrimPrefix(strings.TrimPrefix(file, at), "/")
			if dir, whole := strings.CutSuffix(filepath.ToSlash(s.from[file]), "/"+below); whole {
				found[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// place is one in the file of this repository that a file of the artifact was copied from.
func (s *staging) place(at finding.Place) finding.Place {
	short, err := filepath.Rel(s.dir, at.File)
	if err != nil || !filepath.IsLocal(short) || s.from[path.Clean(filepath.ToSlash(short))] == "" {
		return finding.Place{}
	}
	at.File = s.from[path.Clean(filepath.ToSlash(short))]
	return at
}
