package optin

import (
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Report is what the rules find in all that some units apply. Its JSON form is what `moult check opt-in -o json` prints.
type Report struct {
	// OK is true when there is no finding of severity error.
	OK       bool          `json:"ok"`
	CRDs     []ReportedCRD `json:"crds"`
	Findings []Found       `json:"findings"`
}

// ReportedCRD is one CRD of one build.
type ReportedCRD struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
	OptedIn  bool     `json:"optedIn"`
	Excluded bool     `json:"excluded"`
	// Build is the folder, file or stream that was built.
	Build string `json:"build"`
}

// Examine holds units against the rules.
func Examine(units []*delivery.Unit, q Question) Report {
	report := Report{OK: true, CRDs: []ReportedCRD{}, Findings: []Found{}}
	for _, unit := range units {
		for _, crd := range unit.CRDs() {
			report.CRDs = append(report.CRDs, ReportedCRD{
				Name: crd.GetName(), Versions: crd.Versions(), OptedIn: crd.OptedIn(q.LabelKey), Excluded: crd.Excluded(q.LabelKey), Build: unit.Build(),
			})
		}
		for _, f := range Check(unit, q) {
			report.Add(f)
		}
	}
	return report
}

// Add leaves out what has been found already: two deliveries may apply the same folder.
func (r *Report) Add(f Found) {
	same := func(other Found) bool { return other.Finding == f.Finding && other.Resource == f.Resource }
	if slices.ContainsFunc(r.Findings, same) {
		return
	}
	r.Findings = append(r.Findings, f)
	r.OK = r.OK && f.Severity != finding.Error
}

// Errors counts the findings that have to be fixed.
func (r Report) Errors() (n int) {
	for _, f := range r.Findings {
		if f.Severity == finding.Error {
			n++
		}
	}
	return n
}
