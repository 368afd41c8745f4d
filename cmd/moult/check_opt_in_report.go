package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
)

// optInReport is what -o json and -o yaml print.
type optInReport struct {
	// OK is true when there is no finding of severity error.
	OK       bool           `json:"ok"`
	CRDs     []optInCRD     `json:"crds"`
	Findings []optInFinding `json:"findings"`
}

// optInCRD is one CRD of one build.
type optInCRD struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
	OptedIn  bool     `json:"optedIn"`
	Excluded bool     `json:"excluded"`
	// Build is the folder, file or stream that was built.
	Build string `json:"build"`
}

// optInFinding is one thing to mend, and where.
type optInFinding struct {
	Rule     string           `json:"rule"`
	Severity finding.Severity `json:"severity"`
	File     string           `json:"file"`
	Line     int              `json:"line,omitempty"`
	// Resource is the kind and name of the object to be mended, empty if it is a kustomization.
	Resource string   `json:"resource,omitempty"`
	CRDs     []string `json:"crds,omitempty"`
	Why      string   `json:"why"`
	Mend     string   `json:"mend"`

	place string
}

func (f optInFinding) same(other optInFinding) bool {
	return f.Rule == other.Rule && f.place == other.place && f.Resource == other.Resource && f.Why == other.Why
}

func optInReportOf(survey *desired.Survey, labelKey string) optInReport {
	report := optInReport{OK: true, CRDs: []optInCRD{}, Findings: []optInFinding{}}
	q := optin.Question{LabelKey: labelKey, ArgoCDConfig: survey.Named("ConfigMap", argoCDConfigMap)}
	for _, unit := range survey.Units {
		for _, crd := range optin.CRDs(unit.Objects, labelKey) {
			report.CRDs = append(report.CRDs, optInCRD{
				Name: crd.Object.GetName(), Versions: crd.Versions, OptedIn: crd.OptedIn(), Excluded: crd.Excluded(), Build: unit.Build(),
			})
		}
		found := optin.Check(unit, q)
		if unit.Incomplete() {
			unseen := q
			unseen.Unseen = true
			found = append(found, optin.Check(unit, unseen)...)
		}
		for _, f := range found {
			report.add(optInFindingOf(f, survey))
		}
	}
	return report
}

// optInFindingOf says where a finding is to be mended.
func optInFindingOf(f optin.Found, survey *desired.Survey) optInFinding {
	found := optInFinding{Rule: f.Rule, Severity: f.Severity, CRDs: f.CRDs, Why: f.Why, Mend: f.Mend}
	place := render.Place{File: f.Place.File, Line: f.Place.Line}
	if f.Object != nil {
		found.Resource = f.Object.GetKind() + " " + f.Object.GetName()
		place = survey.Place(f.Object, f.Field...)
	}
	found.File, found.Line, found.place = place.File, place.Line, place.String()
	return found
}

// add leaves out what has been found already: two deliveries may apply the same folder.
func (r *optInReport) add(f optInFinding) {
	if slices.ContainsFunc(r.Findings, f.same) {
		return
	}
	r.Findings = append(r.Findings, f)
	r.OK = r.OK && f.Severity != finding.Error
}

// verdict is the error that decides the exit code.
func (r *optInReport) verdict() error {
	bad := 0
	for _, f := range r.Findings {
		if f.Severity == finding.Error {
			bad++
		}
	}
	if bad == 0 {
		return nil
	}
	return notDone{sentence: fmt.Sprintf("%s to mend; what and where is above, and --help says what the words mean", count(bad, "thing"))}
}

func (a *app) tellOptIn(report optInReport, output string) error {
	if output != "" {
		return printDocument(a.out, output, report)
	}
	a.tellOptInFindings(report.Findings)
	in, out := 0, 0
	for _, crd := range report.CRDs {
		if crd.OptedIn {
			in++
		}
		if crd.Excluded {
			out++
		}
	}
	fmt.Fprintf(a.out, "%s: %d opted in with %s=%s, %d left out on purpose\n", count(len(report.CRDs), "CRD"), in, a.labelKey, v1alpha1.MigrateLabelValue, out)
	return nil
}

func (a *app) tellOptInFindings(findings []optInFinding) {
	for _, f := range findings {
		where := strings.TrimSpace(f.place + "  " + f.Resource)
		fmt.Fprintf(a.out, "%s: %s  %s\n  %s\n  mend: %s\n\n", f.Severity, f.Rule, where, f.Why, f.Mend)
	}
}

// count is a number and what is counted.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
