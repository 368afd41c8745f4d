package optin

import (
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// The rules, in the order in which they are checked.
const (
	// NotLabelled: the CRD has several versions and does not carry the opt-in label.
	NotLabelled = "NotLabelled"
	// ReachesNothing: a patch or component sets the opt-in label on no CRD at all.
	ReachesNothing = "ReachesNothing"
	// Recreated: what the API server refuses is deleted and created anew, a CRD with all its objects.
	Recreated = "Recreated"
	// Replaced: the CRD is sent whole, so that every label that is not in Git is lost at each sync.
	Replaced = "Replaced"
	// NotApplied: the tool does not apply changes of the CRD.
	NotApplied = "NotApplied"
	// DifferencesIgnored: the tool does not see when the label or the versions differ from Git.
	DifferencesIgnored = "DifferencesIgnored"
	// Substituted: the tool replaces ${…} in the CRD.
	Substituted = "Substituted"
	// OtherMigrator: a StorageVersionMigration of the CRD is delivered beside it.
	OtherMigrator = "OtherMigrator"
	// NoMarker: a Go type of the storage version has neither the opt-in marker nor the one that excludes it.
	NoMarker = "NoMarker"
)

// Found is a finding, and what has to be fixed.
type Found struct {
	finding.Finding

	// Resource is the kind and name of the object to be fixed, empty if it is a file.
	Resource string `json:"resource,omitempty"`
	// CRDs are the names of those concerned, as far as they are known.
	CRDs []string `json:"crds,omitempty"`
}

// about is a finding about a field of an object, or if it lacks that, about where the field would be.
func about(object *delivery.Object, field, crds []string, why, fix string) Found {
	f := Found{Resource: object.GetKind() + " " + object.GetName(), CRDs: crds, Finding: finding.Finding{Place: object.Place(field...), Why: why, Remediation: fix}}
	if len(crds) == 1 {
		f.CRD = crds[0]
	}
	return f
}

func aboutCRD(crd delivery.CRD, field []string, why, fix string) []Found {
	return []Found{about(crd.Object, field, []string{crd.GetName()}, why, fix)}
}

func (f Found) warning() Found {
	f.Severity = finding.Warning
	return f
}

// Question is what a unit is asked about.
type Question struct {
	// LabelKey is the opt-in label's key, that of the Moult which is to migrate the CRDs.
	LabelKey string
	// ArgoCDConfig are the ConfigMaps argocd-cm that may hold for the unit.
	ArgoCDConfig []*delivery.Object
	// About reports which CRDs are asked about, by their names; nil is for all.
	About func(crd string) bool
	// SameClusters are the units that the same clusters may get, with or without the one that is asked about.
	SameClusters []*delivery.Unit
	// Unseen asks about what the unit applies and is not among its objects, too. What is found about that is a warning.
	Unseen bool
}

// Check holds a unit against the rules.
func Check(u *delivery.Unit, q Question) []Found {
	seen := check{Question: q, unit: u}
	seen.crds = slices.DeleteFunc(u.CRDs(), func(crd delivery.CRD) bool { return !seen.concerns(crd) })
	findings := seen.findings()
	if q.Unseen && u.Incomplete() {
		findings = append(findings, check{Question: q, unit: u, unseen: true}.findings()...)
	}
	return findings
}

// check is what a rule is asked about.
type check struct {
	Question

	unit *delivery.Unit
	crds []delivery.CRD // those of the unit that it concerns
	// unseen: it is about what the unit applies and is not among its objects.
	unseen bool
}

func (c check) findings() []Found {
	var findings []Found
	for _, r := range rules {
		for _, f := range r.find(c) {
			f.Rule = r.name
			if f.Severity == "" {
				f.Severity = finding.Error
				if c.unseen {
					f.Severity = finding.Warning
				}
			}
			findings = append(findings, f)
		}
	}
	return findings
}

// concerns reports whether there is something to migrate, now or when another version comes.
func (c check) concerns(crd delivery.CRD) bool {
	asked := c.About == nil || c.About(crd.GetName())
	return asked && !crd.Excluded(c.LabelKey) && (len(crd.Versions()) > 1 || crd.OptedIn(c.LabelKey))
}

// touches reports whether the settings of the tool's object matter: it applies a CRD that is concerned, or it is not
// known what it applies.
func (c check) touches() bool { return c.unit.By != nil && (c.unseen || len(c.crds) > 0) }

// setting is a field of the tool's object.
func (c check) setting(fields ...string) []string {
	return delivery.Under(delivery.SpecOf(c.unit.By), fields...)
}

// names are those of the CRDs that a predicate selects.
func (c check) names(selects func(delivery.CRD) bool) []string {
	var names []string
	for _, crd := range c.crds {
		if selects(crd) {
			names = append(names, crd.GetName())
		}
	}
	return names
}

func all(delivery.CRD) bool { return true }

// whose says, at the end of a sentence, which CRDs it is about.
func (c check) whose(names []string) string {
	if c.unseen {
		return "the CRDs it may hold; what it applies was not found under the given paths"
	}
	return words.Few(names, 3)
}
