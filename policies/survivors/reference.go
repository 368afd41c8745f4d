package survivors

import "github.com/moult-dev/moult/policies/words"

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
	// Names is the object that is named, as far as it is reported, for example "Widget garden/rose".
	Names string `json:"names,omitempty"`
	// Why says why it is not known, or is possible only.
	Why string `json:"why,omitempty"`

	// beside are the versions that are named beside it and leave, too, with commas: where one of them stays, nothing stops.
	beside string
}

// covered is a reference beside which a version that stays is named.
func (f Reference) covered() Reference {
	if f.Effect != Cosmetic {
		f.Effect, f.Why = Cosmetic, "a version that stays is named beside it"
	}
	return f
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
func (o ObjectRef) String() string { return o.Resource + " " + words.FullName(o.Namespace, o.Name) }
