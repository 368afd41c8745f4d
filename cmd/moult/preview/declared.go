package preview

import (
	"bytes"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// declared are the CRDs of changed files that no entry point brings or leaves out. An entry point that was found may be an example in
// the repository of an operator, and a person applies what it does not lead to.
func (s *sides) declared(all []preview.Delivered) (preview.Pair, error) {
	changes, err := s.changed()
	if err != nil {
		return preview.Pair{}, err
	}
	var pair preview.Pair
	for _, c := range changes {
		before, after := s.base.crdsIn(c.Base, c.Name), s.head.crdsIn(c.Head, c.Name)
		undecided := map[string]bool{} // on one side or on both, which are compared then
		for _, crd := range before {
			if !slices.ContainsFunc(all, func(d preview.Delivered) bool { return s.base.decides(d.Base.Cluster, crd, c.Name) }) {
				undecided[crd.GetName()] = true
			}
		}
		for _, crd := range after {
			if !slices.ContainsFunc(all, func(d preview.Delivered) bool { return s.head.decides(d.Head.Cluster, crd, c.Name) }) {
				undecided[crd.GetName()] = true
			}
		}
		s.base.declare(&pair.Base, before, undecided, c.Base, c.Name)
		s.head.declare(&pair.Head, after, undecided, c.Head, c.Name)
	}
	return pair, nil
}

// declare adds those CRDs of a file that are named.
func (s side) declare(to *delivery.Cluster, crds []*delivery.Object, named map[string]bool, file, name string) {
	crds = slices.DeleteFunc(crds, func(crd *delivery.Object) bool { return !named[crd.GetName()] })
	if len(crds) > 0 {
		s.tree.Reads.File(file)
		to.Units = append(to.Units, &delivery.Unit{Name: path.Dir(name), Objects: crds})
	}
}

// decides reports whether an entry point shows by itself what becomes of a CRD in a file. It brings the same one, is built of the file, or
// leaves it out.
func (s side) decides(cluster delivery.Cluster, crd *delivery.Object, file string) bool {
	brings := func(found delivery.CRD) bool {
		return found.GetName() == crd.GetName() && reflect.DeepEqual(found.Object.Object["spec"], crd.Object["spec"])
	}
	return slices.ContainsFunc(cluster.CRDs(), brings) || slices.ContainsFunc(cluster.Units, func(u *delivery.Unit) bool {
		return slices.ContainsFunc(u.Dirs, func(dir string) bool {
			return dir != "" && dir != "." && strings.HasPrefix(file, dir+"/") && s.usesOrLeaves(u, dir, file)
		})
	})
}

// usesOrLeaves reports whether a file in a folder of a unit, or below it, is part of the unit, or is left out by a kustomization beside it. What
// a tool is asked to pass over, and what is too deep for it, a person may apply, such as the crds/ of a chart that Argo CD skips. Flux
// takes those once, which is known.
func (s side) usesOrLeaves(u *delivery.Unit, dir, file string) bool {
	at, folder := filepath.Join(s.tree.Root, filepath.FromSlash(file)), filepath.Join(s.tree.Root, filepath.FromSlash(dir))
	if len(u.Charts) > 0 {
		return u.Tool == delivery.Helm
	}
	return s.tree.Reads.Has(at) || filepath.Dir(at) == folder && render.KustomizationIn(folder) != "" && !s.isNamedAbove(at)
}

// isNamedAbove reports whether a kustomization in a folder around that of a file may be built of it.
func (s side) isNamedAbove(file string) bool {
	for dir := filepath.Dir(filepath.Dir(file)); strings.HasPrefix(dir, s.tree.Root+string(filepath.Separator)); dir = filepath.Dir(dir) {
		if render.KustomizationIn(dir) != "" && slices.Contains(render.Local(dir, s.tree.Root), file) {
			return true
		}
	}
	return false
}

// crdsIn are the CRDs of a file that may be applied as it is.
func (s side) crdsIn(file, name string) (found []*delivery.Object) {
	content, err := render.ReadRegular(file)
	if err != nil || !detect.IsManifest(filepath.Base(file)) || !detect.CRD.Match(content) || isAside(name) || !s.mayBeApplied(name) {
		return nil
	}
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil {
		return nil // a template, of which other tools and charts are asked
	}
	for _, object := range read.Objects {
		if object.IsCRD() {
			found = append(found, &delivery.Object{Unstructured: object.Unstructured, At: func(...string) finding.Place { return finding.Place{File: name} }})
		}
	}
	return found
}

// isAside reports whether a file is in a folder that is passed over, such as vendor.
func isAside(name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], detect.IsNotApplied)
}
