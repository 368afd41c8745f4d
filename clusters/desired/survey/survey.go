// Package survey builds everything that lies in some folders, and what Flux and Argo CD apply because of it, whichever cluster gets it.
// It is for questions about files, as those of `moult check opt-in`. What a cluster gets is followed in clusters/desired.
package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Survey is all that is built from some folders and files, and what the Kustomizations and Applications there apply,
// whichever cluster gets it.
type Survey struct {
	delivery.Cluster
	// Failed are the builds that failed.
	Failed []error
}

// Of builds everything under some paths, one of which may be - for manifests on standard input, and what is delivered
// from there. No cluster is asked for, so what stands in a Kustomization or an Application about its source is not looked
// at. A folder of that name is taken for it, if it is in the repository of one of the paths. Nothing is
// substituted, the units have Patches that set the opt-in label, and places are as somebody in the working folder would
// write them.
func Of(ctx context.Context, paths []string, stdin io.Reader, labelKey string, source helm.Source) *Survey {
	s := &survey{labelKey: labelKey, source: source}
	for _, path := range paths {
		if path == "-" {
			s.addStream("standard input", "", stdin)
			continue
		}
		if opened, err := repository.Open(ctx, path); err == nil {
			s.trees = append(s.trees, files.Of(opened))
		}
		s.walk(ctx, path)
	}
	s.dropParts(s.builds)
	followed := s.follow(ctx)
	s.dropParts(append(slices.Clone(s.builds), followed...))
	found := &Survey{Failed: s.failed}
	for _, b := range append(s.builds, followed...) {
		found.Units = append(found.Units, b.unit)
	}
	return found
}

// survey is a Survey under way.
type survey struct {
	labelKey string
	source   helm.Source // of charts that kustomizations take in
	trees    []*files.Tree
	builds   []*build
	failed   []error
}

// build is one folder, file or stream, built once.
type build struct {
	unit *delivery.Unit
	// files are all that were read, absolute. root is the one that the build begins with, empty for a stream.
	files []string
	root  string
}

// walk looks for kustomizations, and for files that belong to none.
func (s *survey) walk(ctx context.Context, path string) {
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			s.addFile(ctx, name, name == path)
			return nil
		case name != path && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		s.addChart(ctx, name)
		file := render.KustomizationIn(name)
		if file == "" {
			return nil
		}
		if !render.IsComponent(file) {
			s.addFolder(ctx, name, file)
		} else if name == path {
			s.failed = append(s.failed, fmt.Errorf("%s is a Component, which is built only as part of a kustomization; name one that lists it", name))
		}
		return filepath.SkipDir
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: there is no such file or folder; name one, as it is seen from the folder this runs in", path)
	}
	if err != nil {
		s.failed = append(s.failed, err)
	}
}

func (s *survey) addFolder(ctx context.Context, dir, file string) {
	rendering, patches, err := buildAndProbe(dir, render.Options{Inflate: s.charts(ctx, dir)}, nil, s.labelKey)
	if err != nil {
		s.failed = append(s.failed, err)
		return
	}
	s.addBuild(rendering, absolute(file), patches)
}

// addFile takes files of manifests. One that was named has to be readable; of the others some are templates, or are
// broken on purpose, and matter only if they say that they are CRDs.
func (s *survey) addFile(ctx context.Context, file string, named bool) {
	if named && render.KustomizationIn(filepath.Dir(file)) == filepath.Clean(file) {
		s.walk(ctx, filepath.Dir(file))
		return
	}
	if !named && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
		return
	}
	read := os.ReadFile
	if !named {
		read = render.ReadRegular
	}
	content, err := read(file)
	if err != nil {
		s.failed = append(s.failed, err)
		return
	}
	before := len(s.failed)
	s.addStream(file, absolute(file), bytes.NewReader(content))
	if !named && (bytes.Contains(content, []byte("{{")) || !bytes.Contains(content, []byte("CustomResourceDefinition"))) {
		s.failed = s.failed[:before]
	}
}

func (s *survey) addStream(name, root string, r io.Reader) {
	rendering, err := render.Stream(name, r)
	if err != nil {
		s.failed = append(s.failed, err)
		return
	}
	s.addBuild(rendering, root, nil)
}

// addBuild leaves out what is there: paths may overlap.
func (s *survey) addBuild(rendering *render.Rendering, root string, patches []delivery.Patch) {
	if root != "" && slices.ContainsFunc(s.builds, func(other *build) bool { return other.root == root }) {
		return
	}
	unit := &delivery.Unit{Name: rendering.Name, Objects: files.Placed(rendering, asWritten), Patches: patches}
	s.builds = append(s.builds, &build{unit: unit, files: rendering.Files, root: root})
}

// dropParts leaves out what is part of another build: a base is judged by what is made of it.
func (s *survey) dropParts(all []*build) {
	s.builds = slices.DeleteFunc(slices.Clone(s.builds), func(part *build) bool {
		return part.root != "" && slices.ContainsFunc(all, func(b *build) bool {
			return b != part && slices.Contains(b.files, part.root)
		})
	})
}

// absolute is a path as builds know it: without symbolic links.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if direct, err := filepath.EvalSymlinks(full); err == nil {
		return direct
	}
	return full
}

// relative is a path as a person in the working folder would write it.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if short, err := filepath.Rel(absolute(here), path); err == nil && len(short) < len(path) {
		return short
	}
	return path
}

// asWritten is a place as somebody in the working folder would write it.
func asWritten(at finding.Place) finding.Place {
	at.File = relative(at.File)
	return at
}
