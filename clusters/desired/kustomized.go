package desired

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// asKustomized adds the CRDs that a kustomization builds, if it is there.
func (e *everywhere) asKustomized(dir string) {
	file := render.KustomizationIn(dir)
	if file == "" || render.IsComponent(file) {
		return
	}
	built := e.build(dir, file)
	if built == nil {
		return
	}
	name := e.tree.Relative(dir)
	unit := &delivery.Unit{Name: name, Dirs: []string{name}}
	for _, object := range built.Objects {
		object.At = func(...string) finding.Place { return finding.Place{File: e.tree.Relative(file)} }
		for _, crd := range e.crdsOf(name, object) {
			e.shared(crd)
			unit.Objects = append(unit.Objects, crd)
		}
	}
	e.cluster.Built = append(e.cluster.Built, unit)
}

// crdsOf is an object, if that is a CRD, or else those that it holds.
func (e *everywhere) crdsOf(where string, object *delivery.Object) []*delivery.Object {
	if object.IsCRD() {
		return []*delivery.Object{object}
	}
	held, unread := object.Inside()
	for i, text := range unread {
		e.hidden(filepath.Join(e.tree.Root, filepath.FromSlash(where)), []byte(text), fmt.Sprintf("%s holds CRDs in a text that cannot be read (%d)", object.Holder(), i+1))
	}
	if asks := object.Asks(); len(held) > 0 && asks != "" {
		e.hidden(filepath.Join(e.tree.Root, filepath.FromSlash(where)), []byte(asks), delivery.AsksOtherwise)
	}
	return held
}

// asBuilt is the CRD of a file as the nearest kustomization around it has it that is made of the file, or as it is if there
// is none. Another file in that build may have a CRD of the same name, for another channel for example.
func (e *everywhere) asBuilt(crd *delivery.Object, name string) *delivery.Object {
	for dir := filepath.Dir(name); dir == e.tree.Dir || strings.HasPrefix(dir, e.tree.Dir+string(filepath.Separator)); dir = filepath.Dir(dir) {
		file := render.KustomizationIn(dir)
		if file == "" || render.IsComponent(file) {
			continue
		}
		built := e.build(dir, file)
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

// build builds a folder by its kustomization, once. One that cannot be built may have changed a CRD, so it is unseen.
func (e *everywhere) build(dir, kustomization string) *render.Rendering {
	built, known := e.built[dir]
	if known {
		return built
	}
	built, err := render.Folder(dir, render.Options{Root: e.tree.Root, Network: e.network, Note: e.tree.Reads.File, Builds: e.builds})
	if err != nil {
		built = nil
		e.hidden(kustomization, []byte(e.tree.Sum(render.Local(dir, e.tree.Root)...)), "it is about CRDs, and fails: "+files.FailureOf(e.tree.Shorten(err)))
	}
	e.built[dir] = built
	return built
}
