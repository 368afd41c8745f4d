package survivors

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference is one field of one object that names a leaving version, or may.
type Reference struct {
	// Place is the name of the place, empty if no declared place has the field.
	Place string `json:"place,omitempty"`
	State State  `json:"state"`
	// Effect is what happens; empty if no declared place has the field.
	Effect Effect    `json:"effect,omitempty"`
	Object ObjectRef `json:"object"`
	// Path is where in the object, with its packing, for example data.release|base64|base64|gzip|json.manifest|yaml[3].
	Path string `json:"path"`
	// CRD and Version are what is named; empty if that is not known.
	CRD     string `json:"crd,omitempty"`
	Version string `json:"version,omitempty"`
	// Names is the object that is named, as far as it is told, for example "Widget garden/rose".
	Names string `json:"names,omitempty"`
	// Why says why it is not known, or is possible only.
	Why string `json:"why,omitempty"`
}

// State is how sure a reference is. The set is closed.
type State string

const (
	// Found: a declared place names the version.
	Found State = "found"
	// Possible: something looks as if it named it. It never holds anything up.
	Possible State = "possible"
	// Unknown: whether a declared place names it cannot be told.
	Unknown State = "unknown"
)

// ObjectRef is the object that has the field.
type ObjectRef struct {
	Resource  string `json:"resource"` // as in deployments.apps
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the object for people.
func (o ObjectRef) String() string {
	if o.Namespace == "" {
		return o.Resource + " " + o.Name
	}
	return o.Resource + " " + o.Namespace + "/" + o.Name
}

// Walker reads objects for versions that are to leave. It is for one goroutine.
type Walker struct {
	places  []Place
	targets []Target
	// byResource are the places of resources, as they are asked for.
	byResource map[schema.GroupResource][]*Place
}

// NewWalker looks for targets at those places where they can lie. Targets without a leaving version are left out.
func NewWalker(places []Place, targets []Target) *Walker {
	w := &Walker{byResource: map[schema.GroupResource][]*Place{}}
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

// concerns tells whether one of the targets can lie at a place.
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

// NeedOf tells what is to be read of an object, by its metadata.
func (w *Walker) NeedOf(r Resource, content Content) Need {
	m := metadataOf(content)
	for _, p := range w.PlacesOf(r) {
		if !p.Metadata && p.applies(m) {
			return Whole
		}
	}
	return OnlyMetadata
}

// NeedOfAll tells what is to be read of all objects of a resource: Whole if they have a place that metadata are not enough for
// and that does not depend on the metadata. Where it does, NeedOf tells it for each object.
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
	m := metadataOf(content)
	v := &visit{Walker: w, metadata: m, object: ObjectRef{Resource: r.String(), Namespace: m.namespace, Name: m.name}, answered: map[string]bool{}}
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

// visit is the walk through one object.
type visit struct {
	*Walker
	*metadata
	object     ObjectRef
	references []Reference
	// seen are the paths that declared places are about, with all that lies below.
	seen []string
	// answered are the mappings that they have read as references, to whatever.
	answered map[string]bool
}

// skip leaves out the fields of an object that the place is declared not to apply to.
func (v *visit) skip(p *Place, content Content) {
	for i := range p.Fields {
		for at := range p.Fields[i].path.values("", content) {
			v.seen = append(v.seen, at)
		}
	}
}

func (v *visit) place(p *Place, content Content) {
	for i := range p.Fields {
		f := &p.Fields[i]
		for at, value := range f.path.values("", content) {
			if p.effectOf(f) == Cosmetic {
				v.seen = append(v.seen, at) // nor does anything in it matter
			}
			if f.Shape == Presence {
				v.present(p)
				continue
			}
			v.unpack(p, f, at, value, f.packing)
		}
	}
}

// present is the object itself.
func (v *visit) present(p *Place) {
	v.references = append(v.references, Reference{Place: p.Name, State: Possible, Effect: p.Effect, Object: v.object, Path: "metadata.name", Why: p.Consequence})
}

// unpack takes off one packing after the other.
func (v *visit) unpack(p *Place, f *Field, at string, value any, packing []step) {
	if len(packing) == 0 {
		v.read(p, f, at, value)
		return
	}
	err := packing[0](at, value, func(at string, inside any) { v.unpack(p, f, at, inside, packing[1:]) })
	if err != nil {
		v.unknown(p, f, at, err)
	}
}

func (v *visit) read(p *Place, f *Field, at string, value any) {
	if f.Shape == Object {
		v.whole(p, f, at, value)
		return
	}
	fields, _ := value.(map[string]any)
	for name, want := range f.Where {
		if fmt.Sprint(fields[name]) != want {
			return
		}
	}
	r, err := f.read(value)
	if err != nil {
		v.unknown(p, f, at, err)
		return
	}
	if r != nil {
		v.answered[at] = true
		v.refers(p, f, at, r)
	}
}

// whole reads a stashed copy, or a list of some.
func (v *visit) whole(p *Place, f *Field, at string, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		if items, isList := value.([]any); isList {
			v.items(p, f, at, items)
			return
		}
		v.unknown(p, f, at, errors.New("it is no object"))
		return
	}
	apiVersion, kind := text(fields["apiVersion"]), text(fields["kind"])
	gv, err := schema.ParseGroupVersion(apiVersion)
	meta, _ := fields["metadata"].(map[string]any)
	r := &naming{groups: []string{gv.Group}, versions: []string{gv.Version}, kind: kind, namespace: text(meta["namespace"]), name: text(meta["name"])}
	switch {
	case err == nil && apiVersion != "" && (kind != "" || v.isNamed(r)):
		v.refers(p, f, at, r)
	case v.byLabels(p, f, at):
	case kind == "":
		v.unknown(p, f, at, errors.New("the copy has no kind"))
	default:
		v.unknown(p, f, at, fmt.Errorf("the copy's apiVersion %q is none", clip(apiVersion)))
	}
	if items, isList := fields["items"].([]any); isList {
		v.items(p, f, below(at, "items"), items)
	}
}

func (v *visit) items(p *Place, f *Field, at string, items []any) {
	for where, item := range children(at, items) {
		v.whole(p, f, where, item)
	}
}

// isNamed tells whether a leaving version is named.
func (v *visit) isNamed(r *naming) bool {
	return slices.ContainsFunc(v.targets, func(t Target) bool {
		versions, _ := r.names(&t)
		return len(versions) > 0
	})
}

// byLabels reads what labels tell of a copy that does not tell it itself.
func (v *visit) byLabels(p *Place, f *Field, at string) bool {
	if f.Payload == nil {
		return false
	}
	version, kind := v.labels[f.Payload.Version], v.labels[f.Payload.Kind]
	if version == "" || kind == "" {
		return false
	}
	v.refers(p, f, at, &naming{groups: p.Groups, versions: []string{version}, kind: kind, name: v.labels[f.Payload.Name]})
	return true
}

func (v *visit) refers(p *Place, f *Field, at string, r *naming) {
	for i := range v.targets {
		t := &v.targets[i]
		versions, covered := r.names(t)
		effect, why := p.effectOf(f), ""
		if covered && effect != Cosmetic {
			effect, why = Cosmetic, "a version that stays is named beside it"
		}
		for _, version := range versions {
			v.found(Reference{Place: p.Name, State: Found, Effect: effect, Object: v.object, Path: at, CRD: t.CRD, Version: version, Names: r.what(), Why: why})
		}
	}
}

// found keeps a reference, unless another field of the place has led there.
func (v *visit) found(f Reference) {
	v.seen = append(v.seen, f.Path)
	same := func(other Reference) bool {
		return other.Place == f.Place && other.Path == f.Path && other.CRD == f.CRD && other.Version == f.Version
	}
	if !slices.ContainsFunc(v.references, same) {
		v.references = append(v.references, f)
	}
}

func (v *visit) unknown(p *Place, f *Field, at string, err error) {
	v.seen = append(v.seen, at)
	v.references = append(v.references, Reference{Place: p.Name, State: Unknown, Effect: p.effectOf(f), Object: v.object, Path: at, Why: err.Error()})
}
