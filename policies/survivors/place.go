package survivors

import "slices"

// Place is one place where a version can lie. Its YAML form is the format of the files in the folder places.
type Place struct {
	// Name stays the same from release to release, for example owner-references.
	Name string `json:"name"`
	// Title is what people call the place.
	Title string `json:"title"`
	// Resources select the resources whose objects have the place.
	Resources []Selector `json:"resources"`
	// Groups are the API groups of what the place names. Empty: any.
	Groups []string `json:"groups,omitempty"`
	// When is when the place applies: one of the conditions has to hold. Empty: always.
	When []Condition `json:"when,omitempty"`
	// Unless is when it does not, whatever When says.
	Unless []Condition `json:"unless,omitempty"`
	// Fields are where in the object the version lies.
	Fields []Field `json:"fields"`
	// Effect is what happens when the version leaves, and Consequence says it in a sentence.
	Effect      Effect `json:"effect"`
	Consequence string `json:"consequence"`
	// Clears is who makes the place stop naming the version, and Remediation says how in a sentence.
	Clears      Clearer `json:"clears"`
	Remediation string  `json:"remediation"`
	// Convert is how a stashed copy gets to another version. It is set for places with the shape object and no others.
	Convert Conversion `json:"convert,omitempty"`
	// Move names how Moult moves the copies, if it does: a Move that Moult brings. MoveBy is one of the place's own.
	Move   string `json:"move,omitempty"`
	MoveBy *Move  `json:"moveBy,omitempty"`
	// Evidence are the addresses of what the above rests on.
	Evidence []string `json:"evidence"`
	// Tried says what of it was tried, and with what.
	Tried string `json:"tried"`
	// Metadata is true if an object's metadata are enough to look at the place.
	Metadata bool `json:"metadata,omitempty"`
	// Secret is true if the place lies in Secrets, which are read only on demand.
	Secret bool `json:"secret,omitempty"`
}

// Field is one path in an object and what is found there.
type Field struct {
	// Path leads there, see path. The value may be packed.
	Path string `json:"path"`
	// Packing is how it is unpacked, in this order: base64, gzip, json, yaml, or a path inside of what is unpacked by then,
	// which begins with a dot. After yaml there is a list of documents.
	Packing []string `json:"packing,omitempty"`
	Shape   Shape    `json:"shape"`
	// Keys are what the shape's fields are called, where the names are not the usual ones.
	Keys Keys `json:"keys,omitzero"`
	// Where are fields beside it that must have these values, as text.
	Where map[string]string `json:"where,omitempty"`
	// Policy is, for rules in a list, the field beside the list that may be Exact. Then a rule matches only requests at
	// the versions that it names, and of those that stay only the ones that are served count.
	Policy string `json:"policy,omitempty"`
	// Payload are the object's labels that show what a copy is if the copy itself does not.
	Payload *Payload `json:"payload,omitempty"`
	// Effect, if set, is that of this field and not the place's.
	Effect Effect `json:"effect,omitempty"`

	path    steps
	packing []step
}

// Keys are names of fields.
type Keys struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Group      string `json:"group,omitempty"`
	Version    string `json:"version,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Resource   string `json:"resource,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// CRD holds the name of the CustomResourceDefinition.
	CRD string `json:"crd,omitempty"`
}

// Payload are labels.
type Payload struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	// UID and Generation are needed where copies are moved.
	UID        string `json:"uid,omitempty"`
	Generation string `json:"generation,omitempty"`
}

// Shape is how a version is written. The set is closed.
type Shape string

const (
	// APIVersion: a mapping with apiVersion and kind, as a reference has them.
	APIVersion Shape = "apiVersion"
	// GroupVersion: group and version side by side, each a text or a list of texts; beside them perhaps a kind, resources or
	// the name of the CRD.
	GroupVersion Shape = "groupVersion"
	// GroupVersionKind: a text such as example.com/v1/Widget, or v1/Widget.
	GroupVersionKind Shape = "groupVersionKind"
	// Inventory: an id of the form namespace_name_group_kind, and the version in v, as Flux has it.
	Inventory Shape = "inventory"
	// Object: a whole object, or a list of some.
	Object Shape = "object"
	// Presence: the object itself. Which version it is about cannot be told, so it is never more than possible.
	Presence Shape = "presence"
)

// Shapes are all of them.
var Shapes = []Shape{APIVersion, GroupVersion, GroupVersionKind, Inventory, Object, Presence}

// Effect is what happens when a version leaves that a place still names. The set is closed.
type Effect string

const (
	// LosesData: objects are deleted, or cannot be brought back.
	LosesData Effect = "losesData"
	// StopsSilently: something stops, and no client gets an error.
	StopsSilently Effect = "stopsSilently"
	// BreaksAtRemoval: something fails as soon as the version no longer exists.
	BreaksAtRemoval Effect = "breaksAtRemoval"
	// BreaksAtUse: something fails when somebody uses it next.
	BreaksAtUse Effect = "breaksAtUse"
	// BreaksAtNextWrite: the next write of what is named, or of the object that names it, fails.
	BreaksAtNextWrite Effect = "breaksAtNextWrite"
	// Cosmetic: nothing depends on it.
	Cosmetic Effect = "cosmetic"
)

// Effects are all of them, the worst first.
var Effects = []Effect{LosesData, StopsSilently, BreaksAtRemoval, BreaksAtUse, BreaksAtNextWrite, Cosmetic}

// String is the effect for people.
func (e Effect) String() string {
	switch e {
	case LosesData:
		return "loses data"
	case StopsSilently:
		return "stops silently"
	case BreaksAtRemoval:
		return "breaks at removal"
	case BreaksAtUse:
		return "breaks at use"
	case BreaksAtNextWrite:
		return "breaks at the next write"
	case Cosmetic:
		return "cosmetic"
	}
	return string(e)
}

// Clearer is who makes a place stop naming a version. The set is closed.
type Clearer string

// ByMoult: Moult does. ByController: the project's own controller does, by itself. ByCommit: somebody changes what is in Git,
// or wherever the object comes from. ByPerson: somebody acts on the cluster.
const (
	ByMoult      Clearer = "moult"
	ByController Clearer = "controller"
	ByCommit     Clearer = "commit"
	ByPerson     Clearer = "person"
)

// Clearers are all of them.
var Clearers = []Clearer{ByMoult, ByController, ByCommit, ByPerson}

// String is the word for people.
func (c Clearer) String() string {
	switch c {
	case ByMoult:
		return "Moult"
	case ByController:
		return "a controller"
	case ByCommit:
		return "a commit"
	case ByPerson:
		return "a person"
	}
	return string(c)
}

// Conversion is how a stashed copy gets to another version. The set is closed.
type Conversion string

const (
	// ByCRD: the API server converts it as it converts stored objects. That is possible until the version has left spec.versions.
	ByCRD Conversion = "crd"
	// ByProject: only the project's own code knows how; the CRD's conversion may be None and differ.
	ByProject Conversion = "project"
	// ByWriter: the client that wrote the copy writes it anew; nothing converts it.
	ByWriter Conversion = "writer"
)

// Conversions are all of them.
var Conversions = []Conversion{ByCRD, ByProject, ByWriter}

// Stash reports whether the place holds whole objects.
func (p *Place) Stash() bool {
	return slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Shape == Object })
}

// effectOf is what happens by one of its fields.
func (p *Place) effectOf(f *Field) Effect {
	if f.Effect != "" {
		return f.Effect
	}
	return p.Effect
}

// worst is the worst that happens by any of its fields.
func (p *Place) worst() Effect {
	worst := p.Effect
	for i := range p.Fields {
		if effect := p.effectOf(&p.Fields[i]); effect.weight() < worst.weight() {
			worst = effect
		}
	}
	return worst
}
