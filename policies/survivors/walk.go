package survivors

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/unpacking"
)

// Walker reads objects for versions that are to be removed, in one look through a cluster. It is for one goroutine.
type Walker struct {
	places  []Place
	targets []Target
	// byResource are the places of resources, as they are asked for.
	byResource map[schema.GroupResource][]*Place
	// unpacked is what objects may have unpacked.
	unpacked *unpacking.Look
}

// NewWalker looks for targets at those places where they can lie. Targets without a leaving version are left out.
func NewWalker(places []Place, targets []Target) *Walker {
	w := &Walker{byResource: map[schema.GroupResource][]*Place{}, unpacked: unpacking.NewLook()}
	for _, t := range targets {
		if len(t.Leaving) > 0 {
			w.targets = append(w.targets, t)
		}
	}
	for i := range places {
		if w.concerns(&places[i]) {
			w.places = append(w.places, places[i])
		}
	}
	return w
}

// concerns reports whether one of the targets can lie at a place.
func (w *Walker) concerns(p *Place) bool {
	return slices.ContainsFunc(w.targets, func(t Target) bool { return p.holdsGroup(t.Group) })
}

func (p *Place) holdsGroup(group string) bool {
	return len(p.Groups) == 0 || slices.Contains(p.Groups, group)
}

// Places are those where the targets can lie.
func (w *Walker) Places() []Place { return w.places }

// PlacesOf are the places that objects of a resource have.
func (w *Walker) PlacesOf(r Resource) []*Place {
	if known, ok := w.byResource[r.GroupResource]; ok {
		return known
	}
	found := []*Place{}
	for i := range w.places {
		if w.places[i].In(r) {
			found = append(found, &w.places[i])
		}
	}
	w.byResource[r.GroupResource] = found
	return found
}

// Need is what of an object has to be read.
type Need int

// OnlyMetadata is enough; or Whole is needed.
const (
	OnlyMetadata Need = iota
	Whole
)

// NeedOf reports what is to be read of an object, by its metadata.
func (w *Walker) NeedOf(r Resource, content Content) Need {
	m := metadataOf(content)
	for _, p := range w.PlacesOf(r) {
		if !p.Metadata && p.applies(m) {
			return Whole
		}
	}
	return OnlyMetadata
}

// NeedOfAll reports what is to be read of all objects of a resource. It is Whole if they have a place that needs more
// than metadata and does not depend on the metadata. Where it does, NeedOf reports it for each object.
func (w *Walker) NeedOfAll(r Resource) Need {
	for _, p := range w.PlacesOf(r) {
		if !p.Metadata && len(p.When) == 0 {
			return Whole
		}
	}
	return OnlyMetadata
}

// Walk reads one object at all its places, and then everything else in it. Of an object of which there are only the metadata, it
// looks at the places that need no more.
func (w *Walker) Walk(r Resource, content Content, need Need) []Reference {
	return w.walk(r, content, need, w.unpacked.Object(unpacking.SizeOf(content)))
}

// WalkAside is Walk of metadata for which the process has made no room. If not all is read, there is more packed in them than may be
// unpacked so: they are to be walked through once there is room.
func (w *Walker) WalkAside(r Resource, content Content) (found []Reference, isAll bool) {
	budget := w.unpacked.Aside(unpacking.SizeOf(content))
	found = w.walk(r, content, OnlyMetadata, budget)
	return found, !budget.IsRefused()
}

func (w *Walker) walk(r Resource, content Content, need Need, budget *unpacking.Budget) []Reference {
	m := metadataOf(content)
	v := &visit{Walker: w, metadata: m, content: content, object: ObjectRef{Resource: r.String(), Namespace: m.namespace, Name: m.name}, budget: budget, seen: map[string]bool{}, kept: map[Reference]bool{}, answered: map[string]bool{}}
	for _, p := range w.PlacesOf(r) {
		switch {
		case need != Whole && !p.Metadata:
		case p.excludes(m):
			v.skip(p, content)
		case p.applies(m):
			v.place(p, content)
		}
	}
	v.undeclared(content)
	return v.references
}
