package desired

import (
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Objects are those of a rendering.
func Objects(rendering *render.Rendering) []*delivery.Object { return objectsOf(rendering, nil) }

// objectsOf are those of a rendering, with their places from the root of the repository.
func objectsOf(rendering *render.Rendering, t *repository.Tree) []*delivery.Object {
	objects := make([]*delivery.Object, len(rendering.Objects))
	for i, rendered := range rendering.Objects {
		objects[i] = &delivery.Object{Unstructured: rendered.Unstructured, At: func(fields ...string) finding.Place {
			return placeIn(t, rendered.Place(fields...))
		}}
	}
	return objects
}

// placeIn is a place as findings have it: empty for what comes from another repository.
func placeIn(t *repository.Tree, at render.Place) finding.Place {
	if at.Repo != "" || at.File == "" {
		return finding.Place{}
	}
	file := at.File
	if t != nil {
		file = t.Relative(file)
	}
	return finding.Place{File: file, Line: at.Line}
}
