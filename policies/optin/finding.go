package optin

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rule names what is wrong.
type Rule string

// The rules, in the order in which they are checked.
const (
	// NotLabelled: the CRD has several versions and does not carry the opt-in label.
	NotLabelled Rule = "NotLabelled"
	// ReachesNothing: a patch or component sets the opt-in label on no CRD at all.
	ReachesNothing Rule = "ReachesNothing"
	// Recreated: what the API server refuses is deleted and created anew, a CRD with all its objects.
	Recreated Rule = "Recreated"
	// Replaced: the CRD is sent whole, so that every label that is not in Git is lost at each sync.
	Replaced Rule = "Replaced"
	// NotApplied: the tool does not apply changes of the CRD.
	NotApplied Rule = "NotApplied"
	// DifferencesIgnored: the tool does not see when the label or the versions differ from Git.
	DifferencesIgnored Rule = "DifferencesIgnored"
	// Substituted: the tool replaces ${…} in the CRD.
	Substituted Rule = "Substituted"
	// NoMarker: a Go type of the storage version has neither the opt-in marker nor the one that excludes it.
	NoMarker Rule = "NoMarker"
)

// Severity tells whether a check fails because of a finding.
type Severity string

const (
	// Error: the migration would not happen, or break.
	Error Severity = "error"
	// Warning: it would if things are as they may be, but the manifests do not tell.
	Warning Severity = "warning"
)

// Finding is one thing to mend.
type Finding struct {
	Rule     Rule
	Severity Severity
	// Object has to be mended, at Field or, if it lacks that, where Field would be. It is nil for a finding about a file.
	Object *unstructured.Unstructured
	Field  []string
	// File and Line are set when Object is not.
	File string
	Line int
	// CRDs are the names of those concerned, as far as they are known.
	CRDs []string
	// Why says what would happen, Mend what to do, each in a sentence without a full stop.
	Why, Mend string
}

// Check holds a unit against the rules. The opt-in label's key is that of the Moult that is to migrate the CRDs.
func Check(u Unit, labelKey string) []Finding {
	c := check{unit: u, labelKey: labelKey}
	for _, crd := range CRDs(u.Objects, labelKey) {
		if crd.concerned() {
			c.crds = append(c.crds, crd)
		}
	}
	var findings []Finding
	for _, r := range rules {
		for _, f := range r.find(c) {
			f.Rule = r.name
			if f.Severity == "" {
				f.Severity = c.severity()
			}
			findings = append(findings, f)
		}
	}
	return findings
}

// check is what a rule is asked about.
type check struct {
	unit     Unit
	labelKey string
	crds     []CRD // concerned
}

func (c check) severity() Severity {
	if c.unit.Unseen {
		return Warning
	}
	return Error
}

// touches tells whether the delivery's settings matter: it applies a CRD that is concerned, or nobody knows what.
func (c check) touches() bool { return c.unit.Delivery != nil && (c.unit.Unseen || len(c.crds) > 0) }

// names are those of the CRDs that a predicate selects.
func (c check) names(selects func(CRD) bool) []string {
	var names []string
	for _, crd := range c.crds {
		if selects(crd) {
			names = append(names, crd.Object.GetName())
		}
	}
	return names
}

func all(CRD) bool { return true }

// whose says, at the end of a sentence, which CRDs it is about.
func (c check) whose(names []string) string {
	if c.unit.Unseen {
		return "the CRDs it may hold; what it applies was not found under the given paths"
	}
	return fewNames(names)
}
