package desired

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is something that brings objects to the cluster which are not among those of any unit.
type Source struct {
	// Name is the kind and the namespace/name of By.
	Name string
	// By is the Kustomization, the Application, the HelmRelease or whatever else brings them.
	By *Object
	// Why says why they cannot be seen, without a full stop.
	Why string
	// Fingerprint stands for all in the repository that decides what they are: the same before and after a pull request,
	// it brings the same.
	Fingerprint string
}

// findUnseen lists all that brings what cannot be seen. It comes last, as a source may stand in any unit.
func (f *follower) findUnseen() {
	f.findSubmodules()
	for _, u := range f.cluster.Units {
		if u.Unseen != "" && u.By != nil {
			u.hidden.inputs = u.Inputs
			f.unseen(Source{Name: u.By.GetKind() + " " + u.Name, By: u.By, Why: u.Unseen}, u.Parent, u.hidden)
		}
		for _, object := range u.Objects {
			switch {
			case installs(object):
				f.unseen(Source{Name: nameOf(object, u), By: object, Why: whatIsInstalled(object)}, u, f.installed(object))
			case f.tree == nil && delivers(object):
				f.unseen(Source{Name: nameOf(object, u), By: object, Why: "nothing is followed from " + f.cluster.Name}, u, hidden{})
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
		by := &Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"kind": "Submodule"}}, file: ".gitmodules"}
		by.SetName(path)
		f.unseen(Source{Name: "submodule " + path, By: by, Why: "its content is in another repository"}, nil, hidden{built: []string{f.tree.Submodules[path]}})
	}
}

func (f *follower) unseen(s Source, holder *Unit, h hidden) {
	s.Fingerprint = f.fingerprint(s, holder, h)
	f.cluster.Unseen = append(f.cluster.Unseen, s)
}

func nameOf(object *Object, u *Unit) string {
	return object.GetKind() + " " + unitName(pointer{by: object, parent: u})
}
