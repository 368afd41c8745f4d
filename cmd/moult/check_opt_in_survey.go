package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/optin"
)

// optInSurvey builds everything under some paths and what is delivered from there.
type optInSurvey struct {
	labelKey string
	builds   []*optInBuild
	paths    []string
	failed   []error
}

// optInBuild is one folder, file or stream, built once.
type optInBuild struct {
	rendering *render.Rendering
	// root is the absolute path of the kustomization or the file that the build begins with, empty for a stream.
	root     string
	patches  []optin.Patch
	delivery *optin.Delivery
	unseen   bool
}

// look returns an error for each build that failed.
func (s *optInSurvey) look(paths []string, stdin io.Reader) []error {
	for _, path := range paths {
		if path == "-" {
			s.addStream("standard input", "", stdin)
			continue
		}
		s.paths = append(s.paths, path)
		s.walk(path)
	}
	s.dropParts()
	s.deliver()
	s.dropParts()
	return s.failed
}

// walk looks for kustomizations, and for files that belong to none.
func (s *optInSurvey) walk(path string) {
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			s.addFile(name, name == path)
			return nil
		case name != path && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		file := render.KustomizationIn(name)
		if file == "" {
			return nil
		}
		if !isComponent(file) {
			s.addFolder(name, file)
		} else if name == path {
			s.failed = append(s.failed, fmt.Errorf("%s is a Component, which is built only as part of a kustomization; name one that lists it", name))
		}
		return filepath.SkipDir
	})
	if err != nil {
		s.failed = append(s.failed, noSuchPath(path, err))
	}
}

// isComponent tells a Component from a Kustomization.
func isComponent(file string) bool {
	var kind struct{ Kind string }
	content, err := os.ReadFile(file)
	return err == nil && yaml.Unmarshal(content, &kind) == nil && kind.Kind == "Component"
}

func (s *optInSurvey) addFolder(dir, file string) {
	rendering, patches, err := buildAndProbe(dir, render.Options{}, nil, s.labelKey)
	if err != nil {
		s.failed = append(s.failed, err)
		return
	}
	s.addBuild(&optInBuild{rendering: rendering, root: absolute(file), patches: patches})
}

// addFile takes files of manifests. One that was named has to be readable; of the others some are templates, or are
// broken on purpose, and matter only if they say that they are CRDs.
func (s *optInSurvey) addFile(file string, named bool) {
	if named && render.KustomizationIn(filepath.Dir(file)) == filepath.Clean(file) {
		s.walk(filepath.Dir(file))
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

func (s *optInSurvey) addStream(name, root string, r io.Reader) {
	rendering, err := render.Stream(name, r)
	if err != nil {
		s.failed = append(s.failed, err)
		return
	}
	s.addBuild(&optInBuild{rendering: rendering, root: root})
}

// addBuild leaves out what is there: paths may overlap.
func (s *optInSurvey) addBuild(b *optInBuild) {
	if b.root == "" || !slices.ContainsFunc(s.builds, func(other *optInBuild) bool { return other.root == b.root }) {
		s.builds = append(s.builds, b)
	}
}

// deliver builds the folders that Flux Kustomizations and Argo CD Applications name, and those that are named in them.
func (s *optInSurvey) deliver() {
	seen := map[string]bool{}
	for n := 0; n < len(s.builds); n++ {
		if s.builds[n].unseen {
			continue
		}
		for _, object := range s.builds[n].rendering.Objects {
			deliveries := optin.DeliveriesOf(object.Unstructured)
			for i := range deliveries {
				id := fmt.Sprint(object.GroupVersionKind(), object.GetNamespace(), "/", object.GetName(), object.Place(), i)
				if !seen[id] {
					s.builds = append(s.builds, s.delivered(&deliveries[i], object))
				}
				seen[id] = true
			}
		}
	}
}

// delivered is what a delivery applies, or that it could not be seen: a chart, or a folder in another repository.
func (s *optInSurvey) delivered(d *optin.Delivery, by *render.Object) *optInBuild {
	unseen := &optInBuild{rendering: &render.Rendering{Objects: []*render.Object{by}}, delivery: d, unseen: true}
	dir := s.resolve(d.Path, by)
	if dir == "" {
		return unseen
	}
	options := render.Options{Components: d.Components, IgnoreMissingComponents: d.IgnoreMissingComponents, Labels: d.Labels}
	var fields [][]string
	options.Patches, fields = kustomizePatches(d.Patches)
	if d.Tool == optin.ArgoCD && render.KustomizationIn(dir) == "" {
		options = render.Options{} // Argo CD leaves out spec.source.kustomize then
	}
	rendering, patches, err := buildAndProbe(dir, options, fields, s.labelKey)
	if err != nil {
		if filepath.Clean(d.Path) != "." { // which is the root of any repository, and maybe not of this one
			s.failed = append(s.failed, fmt.Errorf("%s %s: %w", by.GetKind(), by.GetName(), err))
		}
		return unseen
	}
	return &optInBuild{rendering: rendering, root: absolute(render.KustomizationIn(dir)), patches: patches, delivery: d}
}

// resolve finds a delivery's folder, empty if there is none that can be built here.
func (s *optInSurvey) resolve(path string, by *render.Object) string {
	if path == "" || strings.Contains(path, "{{") {
		return ""
	}
	roots := []string{repositoryOf(by.Place().File)}
	for _, given := range s.paths {
		roots = append(roots, given, repositoryOf(given))
	}
	for _, root := range roots {
		dir := filepath.Join(root, path)
		if info, err := os.Stat(dir); root == "" || err != nil || !info.IsDir() || !holdsFolder(dir, root) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); errors.Is(err, fs.ErrNotExist) {
			return dir
		}
	}
	return ""
}

// holdsFolder tells whether a folder is in the repository around another one, or in that folder if no repository holds it.
// Flux and Argo CD have nothing else to read.
func holdsFolder(dir, root string) bool {
	around := absolute(repositoryOf(root))
	if around == "" {
		around = absolute(root)
	}
	short, err := filepath.Rel(around, absolute(dir))
	return err == nil && filepath.IsLocal(short)
}

// repositoryOf is the folder around a file that Git keeps, empty if there is none.
func repositoryOf(file string) string {
	dir := absolute(file)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return relative(dir)
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// dropParts leaves out what is part of another build: a base is judged by what is made of it.
func (s *optInSurvey) dropParts() {
	builds := slices.Clone(s.builds)
	s.builds = slices.DeleteFunc(s.builds, func(part *optInBuild) bool {
		return part.delivery == nil && part.root != "" && slices.ContainsFunc(builds, func(b *optInBuild) bool {
			return b != part && slices.Contains(b.rendering.Files, part.root)
		})
	})
}

// units are the builds as the rules want them.
func (s *optInSurvey) units() []optin.Unit {
	var configs []*unstructured.Unstructured
	units := make([]optin.Unit, len(s.builds))
	for i, b := range s.builds {
		units[i] = optin.Unit{Name: b.rendering.Name, Delivery: b.delivery, Unseen: b.unseen, Patches: b.patches}
		for _, object := range b.rendering.Objects {
			if object.GetKind() == "ConfigMap" && object.GetName() == argoCDConfigMap {
				configs = append(configs, object.Unstructured)
			}
		}
		if !b.unseen {
			units[i].Objects = contents(b.rendering)
		}
	}
	for i := range units {
		units[i].ArgoCDConfig = configs
	}
	return units
}

// contents are the objects of a rendering, without their places.
func contents(rendering *render.Rendering) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(rendering.Objects))
	for i, object := range rendering.Objects {
		objects[i] = object.Unstructured
	}
	return objects
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
