package desired

import (
	"maps"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// findUnseen lists all that brings what cannot be seen. It comes last, as a source may stand in any unit.
func (f *follower) findUnseen() {
	f.findSubmodules()
	for _, u := range f.cluster.Units {
		if u.Unseen != "" && u.By != nil {
			h := f.hiddenOf(u)
			h.inputs = u.Inputs
			f.unseen(delivery.Unseen{Name: u.By.GetKind() + " " + u.Name, By: u.By, Why: u.Unseen}, u.Parent, *h)
		}
		for _, object := range u.Objects {
			switch {
			case installs(object):
				f.unseen(delivery.Unseen{Name: nameOf(object, u), By: object, Why: whatIsInstalled(object)}, u, f.installed(object))
			case f.tree == nil && delivers(object):
				f.unseen(delivery.Unseen{Name: nameOf(object, u), By: object, Why: "nothing is followed from " + f.cluster.Name}, u, hidden{})
			}
		}
	}
}

// findSubmodules names the submodules of the repository. Whether Flux and Argo CD fetch them is a setting of theirs, and a
// file of one may be built into any unit.
func (f *follower) findSubmodules() {
	if f.tree == nil {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(f.tree.Submodules)) {
		by := delivery.Wrap(map[string]any{"kind": "Submodule"})
		by.At = func(...string) finding.Place { return finding.Place{File: ".gitmodules"} }
		by.SetName(path)
		f.unseen(delivery.Unseen{Name: "submodule " + path, By: by, Why: "its content is in another repository"}, nil, hidden{built: []string{f.tree.Submodules[path]}})
	}
}

func (f *follower) unseen(s delivery.Unseen, holder *delivery.Unit, h hidden) {
	s.Fingerprint = f.fingerprint(s, holder, h)
	f.cluster.Unseen = append(f.cluster.Unseen, s)
}

func nameOf(object *delivery.Object, u *delivery.Unit) string {
	return object.GetKind() + " " + unitName(pointer{by: object, parent: u})
}
