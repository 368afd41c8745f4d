package desired

import (
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// placed are the objects of a rendering, with their places as a person reads them.
func placed(rendering *render.Rendering, told func(finding.Place) finding.Place) []*delivery.Object {
	objects := make([]*delivery.Object, len(rendering.Objects))
	for i, rendered := range rendering.Objects {
		objects[i] = &delivery.Object{Unstructured: rendered.Unstructured, At: func(fields ...string) finding.Place {
			return told(rendered.Place(fields...))
		}}
	}
	return objects
}

// inRepository is a place from the root of the repository: empty for what comes from another one.
func (f *follower) inRepository(at finding.Place) finding.Place {
	switch {
	case at.Repo != "" || at.File == "":
		return finding.Place{}
	case f.tree == nil:
		return finding.Place{File: at.File, Line: at.Line}
	}
	return finding.Place{File: f.tree.Relative(at.File), Line: at.Line}
}

// asWritten is a place as somebody in the working folder would write it.
func asWritten(at finding.Place) finding.Place {
	at.File = relative(at.File)
	return at
}
