package scan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/madeof"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// asKustomized adds the CRDs that a kustomization builds, if it is there.
func (s *scan) asKustomized(dir string) {
	file := render.KustomizationIn(dir)
	if file == "" || render.IsComponent(file) {
		return
	}
	built := s.build(dir, file)
	if built == nil {
		return
	}
	name := s.tree.Relative(dir)
	unit := &delivery.Unit{Name: name, Dirs: []string{name}}
	for _, object := range built.Objects {
		object.At = func(...string) finding.Place { return finding.Place{File: s.tree.Relative(file)} }
		for _, crd := range s.crdsOf(name, object) {
			s.shared(crd)
			unit.Objects = append(unit.Objects, crd)
		}
	}
	s.cluster.Built = append(s.cluster.Built, unit)
}

// crdsOf is an object, if that is a CRD, or else those that it holds.
func (s *scan) crdsOf(where string, object *delivery.Object) []*delivery.Object {
	if object.IsCRD() {
		return []*delivery.Object{object}
	}
	held, unread := object.Inside()
	for i, text := range unread {
		s.hidden(filepath.Join(s.tree.Root, filepath.FromSlash(where)), []byte(text), fmt.Sprintf("%s may hold CRDs in a text that cannot be read (%d)", object.Holder(), i+1))
	}
	if asks := object.Asks(); len(held) > 0 && asks != "" {
		s.hidden(filepath.Join(s.tree.Root, filepath.FromSlash(where)), []byte(asks), delivery.AsksOtherwise)
	}
	return held
}

// asBuilt is the CRD of a file as the nearest kustomization around it has it that is made of the file, or as it is if there
// is none. Another file in that build may have a CRD of the same name, for another channel for example.
func (s *scan) asBuilt(crd *delivery.Object, name string) *delivery.Object {
	for dir := filepath.Dir(name); dir == s.tree.Dir || strings.HasPrefix(dir, s.tree.Dir+string(filepath.Separator)); dir = filepath.Dir(dir) {
		file := render.KustomizationIn(dir)
		if file == "" || render.IsComponent(file) {
			continue
		}
		built := s.build(dir, file)
		if built == nil || !slices.Contains(built.Files, name) {
			continue
		}
		for _, object := range built.Objects {
			if object.IsCRD() && object.GetName() == crd.GetName() {
				return &delivery.Object{Unstructured: object.Unstructured, At: crd.At} // to find its own places, all would be built again
			}
		}
	}
	return crd
}

// build builds a folder by its kustomization, once. What cannot be built may have changed a CRD, so it is unseen.
func (s *scan) build(dir, kustomization string) *render.Rendering {
	built, known := s.built[dir]
	if known {
		return built
	}
	built, err := render.Folder(dir, render.Options{Root: s.tree.Root, Network: s.Network, Note: s.tree.Reads.File, Builds: s.Builds, Partly: true})
	switch {
	case err != nil:
		built = nil
		s.hidden(kustomization, s.madeOf(dir, holdsNone), "it is about CRDs, and fails: "+files.FailureOf(s.tree.Shorten(err)))
	case built.Lacks != "":
		s.hidden(kustomization, s.madeOf(dir, func(*delivery.Object) bool { return true }), "it is about CRDs: "+built.Lacks)
	}
	s.built[dir] = built
	return built
}

// madeOf stands for what a folder is built of, but for manifests that need not be. CRDs refer to Services alone.
func (s *scan) madeOf(dir string, needNot func(*delivery.Object) bool) []byte {
	sum := s.tree.NewDigest()
	madeof.Folders(s.tree, []string{dir}, []string{"Service"}, needNot).Write(sum)
	return []byte(sum.Sum())
}

// holdsNone reports whether an object neither is a CRD nor holds one.
func holdsNone(object *delivery.Object) bool {
	held, unread := object.Inside()
	return !object.IsCRD() && len(held)+len(unread) == 0
}
