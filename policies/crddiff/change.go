package crddiff

import (
	"github.com/moult-dev/moult/policies/finding"
)

// Diff is what differs between two states of one CustomResourceDefinition.
type Diff struct {
	// Name is the CRD's, for example widgets.example.com.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Base and Head are what it was and what it is to be; nil where there is no such CRD.
	Base *Shape `json:"base,omitempty"`
	Head *Shape `json:"head,omitempty"`
	// Changes are the gravest first, then in the order of the versions.
	Changes []Change `json:"changes,omitempty"`
	// Removed are the versions that leave spec.versions, in the order of the base. A CRD that is added or removed as a whole
	// has none.
	Removed []string `json:"removed,omitempty"`
	// Unserved are the versions that were served and stay without being so.
	Unserved []string `json:"unserved,omitempty"`
}

// Flips reports whether the storage version changes.
func (d Diff) Flips() bool {
	return d.Base != nil && d.Head != nil && d.Base.Storage != "" && d.Head.Storage != "" && d.Base.Storage != d.Head.Storage
}

// Shape is what matters of one state of a CRD.
type Shape struct {
	Group    string    `json:"group"`
	Scope    string    `json:"scope"`
	Versions []Version `json:"versions"`
	// Storage is the name of the storage version.
	Storage string `json:"storage"`
	// Conversion is the strategy: None or Webhook.
	Conversion string `json:"conversion"`
	// Label is the value of the opt-in label, nil if there is none.
	Label *string `json:"label,omitempty"`
}

// Version is one entry of spec.versions.
type Version struct {
	Name       string `json:"name"`
	Served     bool   `json:"served"`
	Storage    bool   `json:"storage"`
	Deprecated bool   `json:"deprecated,omitempty"`
	// DeprecationWarning is the warning that clients get, if it is not the API server's own sentence.
	DeprecationWarning string `json:"deprecationWarning,omitempty"`
}

// Change is one difference, with a name.
type Change struct {
	// Rule names what has changed; rule.go lists all.
	Rule     Rule             `json:"rule"`
	Severity finding.Severity `json:"severity"`
	// Version is the version concerned, empty when it is all of them.
	Version string `json:"version,omitempty"`
	// Against is the other version if the version is held against another one and not against what it was before.
	Against string `json:"against,omitempty"`
	// Field is a path in the version's schema as `kubectl explain` takes it, for example spec.size. Items of a list are
	// [*], values of a map {*}, and the whole object is a dot. Empty for what is not in the schema.
	Field string `json:"field,omitempty"`
	// From and To are the values before and after, as text; empty where there was or is none.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Why says what it means for those who have objects, in a sentence without a full stop.
	Why string `json:"why"`
}
