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
func (s *sides) declared(all []preview.Delivered) ([]preview.Pair, error) {
	changes, err := s.changed()
	if err != nil {
		return nil, err
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
	moved := preview.Pair{Base: delivery.Cluster{Units: movedAway(&pair)}}
	return slices.DeleteFunc([]preview.Pair{pair, moved}, func(p preview.Pair) bool { return len(p.Base.Units)+len(p.Head.Units) == 0 }), nil
}

// movedAway takes out of the base what moves to the folder of another environment: the one that it leaves gets it no longer.
func movedAway(pair *preview.Pair) (units []*delivery.Unit) {
	pair.Base.Units = slices.DeleteFunc(pair.Base.Units, func(was *delivery.Unit) bool {
		from := detect.Environments(was.Name)
		moves := len(from) > 0 && slices.ContainsFunc(pair.Head.Units, func(is *delivery.Unit) bool {
			to := detect.Environments(is.Name)
			return len(to) > 0 && !slices.Equal(from, to) && slices.ContainsFunc(is.Objects, was.Objects[0].Same)
		}) && !slices.ContainsFunc(pair.Head.Units, func(is *delivery.Unit) bool { return is.Name == was.Name })
		if moves {
			units = append(units, was)
		}
		return moves
	})
	return units
}

// declare adds those CRDs of a file that are named.
func (s side) declare(to *delivery.Cluster, crds []*delivery.Object, named map[string]bool, file, name string) {
	crds = slices.DeleteFunc(crds, func(crd *delivery.Object) bool { return !named[crd.GetName()] })
	if len(crds) > 0 {
		s.tree.Reads.File(file)
		to.Units = append(to.Units, &delivery.Unit{Name: path.Dir(name), Objects: crds})
	}
}

// decides reports whether an entry point shows by itself what becomes of a CRD in a file: it brings the same one, or a folder around the
// file without it.
func (s side) decides(cluster delivery.Cluster, crd *delivery.Object, file string) bool {
	brings := func(found delivery.CRD) bool {
		return found.GetName() == crd.GetName() && reflect.DeepEqual(found.Object.Object["spec"], crd.Object["spec"])
	}
	return slices.ContainsFunc(cluster.CRDs(), brings) || s.isBuilt(cluster, file)
}

// isBuilt reports whether a cluster gets what is in a folder around a file, as far as that does not leave it out. An entry point that was found,
// and has no kustomization, may be more than what is read of it.
func (s side) isBuilt(cluster delivery.Cluster, file string) bool {
	return slices.ContainsFunc(cluster.Units, func(u *delivery.Unit) bool {
		return slices.ContainsFunc(u.Dirs, func(dir string) bool {
			isAround := dir != "" && dir != "." && strings.HasPrefix(file, dir+"/")
			return isAround && (u.By != nil || render.KustomizationIn(filepath.Join(s.tree.Root, filepath.FromSlash(dir))) != "")
		})
	})
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
