package files

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Placed are the objects of a rendering, with their places as a person reads them.
func Placed(rendering *render.Rendering, as func(finding.Place) finding.Place) []*delivery.Object {
	objects := make([]*delivery.Object, len(rendering.Objects))
	for i, rendered := range rendering.Objects {
		objects[i] = &delivery.Object{Unstructured: rendered.Unstructured, At: func(fields ...string) finding.Place {
			return as(rendered.Place(fields...))
		}}
	}
	return objects
}

// Place is a place from the root of the repository: empty for what comes from another one.
func (t *Tree) Place(at finding.Place) finding.Place {
	switch {
	case at.Repo != "" || at.File == "":
		return finding.Place{}
	case t == nil:
		return finding.Place{File: at.File, Line: at.Line}
	}
	return finding.Place{File: t.Relative(at.File), Line: at.Line}
}

// StandIn is an object for what is none, a file for example.
func StandIn(kind, name, file string) *delivery.Object {
	object := delivery.Wrap(map[string]any{"kind": kind})
	object.At = func(...string) finding.Place { return finding.Place{File: file} }
	object.SetName(name)
	return object
}

// Unseen is a file of which something is applied that cannot be seen, and that is the same as long as some content is.
func (t *Tree) Unseen(file string, content []byte, why string) delivery.Unseen {
	name, sum := t.Relative(file), sha256.Sum256(content)
	return delivery.Unseen{Name: name, By: StandIn("File", name, name), Why: why, Fingerprint: hex.EncodeToString(sum[:]), Offline: IsOffline(why)}
}

// IsOffline reports whether what is not seen would be fetched without the flag that the reason names.
func IsOffline(why string) bool { return strings.Contains(why, "with --offline") }
