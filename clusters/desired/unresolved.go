package desired

import (
	"errors"
	"maps"
	"slices"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// findUnseen lists all that brings what cannot be seen. It comes last, as a source may stand in any unit.
func (f *follower) findUnseen() {
	f.findSubmodules()
	for _, u := range f.cluster.Units {
		if u.Unseen != "" {
			h := f.hiddenOf(u)
			h.inputs = u.Inputs
			f.unseen(f.unseenUnit(u), u.Parent, *h)
		}
		for _, object := range u.Objects {
			switch {
			case f.rendered(object), f.allBuilt(object):
			case installs(object):
				f.unseen(delivery.Unseen{Name: nameOf(object, u), By: object, Why: whatIsInstalled(object)}, u, f.installed(object))
			case f.tree == nil && delivers(object):
				f.unseen(delivery.Unseen{Name: nameOf(object, u), By: object, Why: "nothing is followed from " + f.cluster.Name}, u, hidden{})
			}
		}
	}
}

// unseenUnit is a unit as something that is not seen; of an entry point that nobody here applies, it is the folder.
func (f *follower) unseenUnit(u *delivery.Unit) delivery.Unseen {
	if u.By != nil {
		return delivery.Unseen{Name: u.By.GetKind() + " " + u.Name, By: u.By, Why: u.Unseen}
	}
	return delivery.Unseen{Name: "the entry point", By: standIn("Folder", "entry", ""), Why: u.Unseen}
}

// standIn is an object for what is none, a file for example.
func standIn(kind, name, file string) *delivery.Object {
	object := delivery.Wrap(map[string]any{"kind": kind})
	object.At = func(...string) finding.Place { return finding.Place{File: file} }
	object.SetName(name)
	return object
}

// findSubmodules names the submodules of the repository. Whether Flux and Argo CD fetch them is a setting of theirs, and a
// file of one may be built into any unit.
func (f *follower) findSubmodules() {
	if f.tree == nil {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(f.tree.Submodules)) {
		f.unseen(delivery.Unseen{Name: "submodule " + path, By: standIn("Submodule", path, ".gitmodules"), Why: "its content is in another repository"}, nil, hidden{built: []string{f.tree.Submodules[path]}})
	}
}

func (f *follower) unseen(s delivery.Unseen, holder *delivery.Unit, h hidden) {
	s.Fingerprint = f.fingerprint(s, holder, h) // without what is lacking: a chart that cannot be had today is the same chart
	if f.releases != nil && f.notRendered[s.By] != nil && !errors.Is(f.notRendered[s.By], charts.ErrNotAsked) {
		s.Why += "; " + failureOf(f.notRendered[s.By])
	}
	f.cluster.Unseen = append(f.cluster.Unseen, s)
}

func nameOf(object *delivery.Object, u *delivery.Unit) string {
	return object.GetKind() + " " + unitName(pointer{by: object, parent: u})
}
