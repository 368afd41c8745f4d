package preview

import (
	"bytes"
	"path"
	"path/filepath"
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
		for _, one := range []struct {
			from side
			path string
			to   *delivery.Cluster
			of   func(preview.Delivered) delivery.Cluster
		}{
			{s.base, c.Base, &pair.Base, func(d preview.Delivered) delivery.Cluster { return d.Base.Cluster }},
			{s.head, c.Head, &pair.Head, func(d preview.Delivered) delivery.Cluster { return d.Head.Cluster }},
		} {
			unit := &delivery.Unit{Name: path.Dir(c.Name)}
			for _, crd := range one.from.crdsIn(one.path, c.Name) {
				if !slices.ContainsFunc(all, func(d preview.Delivered) bool { return decides(one.of(d), crd.GetName(), c.Name) }) {
					unit.Objects = append(unit.Objects, crd)
				}
			}
			if len(unit.Objects) > 0 {
				one.from.tree.Reads.File(one.path)
				one.to.Units = append(one.to.Units, unit)
			}
		}
	}
	return pair, nil
}

// decides reports whether an entry point shows by itself what becomes of a CRD in a file. It brings one of that name, or a folder around
// the file without it.
func decides(cluster delivery.Cluster, crd, file string) bool {
	return slices.ContainsFunc(cluster.CRDs(), func(found delivery.CRD) bool { return found.GetName() == crd }) ||
		slices.ContainsFunc(cluster.Units, func(u *delivery.Unit) bool {
			return slices.ContainsFunc(u.Dirs, func(dir string) bool { return dir != "" && dir != "." && strings.HasPrefix(file, dir+"/") })
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
