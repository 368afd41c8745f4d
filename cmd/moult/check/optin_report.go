package check

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
	"github.com/moult-dev/moult/policies/words"
)

// optInReport is what -o json and -o yaml print.
type optInReport struct {
	// OK is true when there is no finding of severity error.
	OK       bool              `json:"ok"`
	CRDs     []reportedCRD     `json:"crds"`
	Findings []reportedFinding `json:"findings"`
}

// reportedCRD is one CRD of one build.
type reportedCRD struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
	OptedIn  bool     `json:"optedIn"`
	Excluded bool     `json:"excluded"`
	// Build is the folder, file or stream that was built.
	Build string `json:"build"`
}

// reportedFinding is one thing to mend, and where.
type reportedFinding struct {
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

func (f reportedFinding) same(other reportedFinding) bool {
	return f.Rule == other.Rule && f.place == other.place && f.Resource == other.Resource && f.Why == other.Why
}

func reportOf(survey *desired.Survey, labelKey string) optInReport {
	report := optInReport{OK: true, CRDs: []reportedCRD{}, Findings: []reportedFinding{}}
	q := optin.Question{LabelKey: labelKey, Unseen: true, ArgoCDConfig: survey.Named("ConfigMap", "", lua.ConfigMap)}
	for _, unit := range survey.Units {
		for _, crd := range unit.CRDs() {
			report.CRDs = append(report.CRDs, reportedCRD{
				Name: crd.GetName(), Versions: crd.Versions(), OptedIn: crd.OptedIn(labelKey), Excluded: crd.Excluded(labelKey), Build: unit.Build(),
			})
		}
		for _, f := range optin.Check(unit, q) {
			report.add(findingOf(f))
		}
	}
	return report
}

// findingOf says where a finding is to be mended.
func findingOf(f optin.Found) reportedFinding {
	found := reportedFinding{Rule: f.Rule, Severity: f.Severity, CRDs: f.CRDs, Why: f.Why, Mend: f.Mend}
	place := f.Place
	if f.Object != nil {
		found.Resource = f.Object.GetKind() + " " + f.Object.GetName()
		place = f.Object.Place(f.Field...)
	}
	found.File, found.Line, found.place = place.File, place.Line, place.String()
	return found
}

// add leaves out what has been found already: two deliveries may apply the same folder.
func (r *optInReport) add(f reportedFinding) {
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
	return cli.NotDone{Sentence: fmt.Sprintf("%s to mend; what and where is above, and --help says what the words mean", words.Count(bad, "thing"))}
}

func (o *optIn) print(report optInReport) error {
	if o.format != "" {
		return output.Print(o.Out, o.format, report)
	}
	printFindings(o.Out, report.Findings)
	in, out := 0, 0
	for _, crd := range report.CRDs {
		if crd.OptedIn {
			in++
		}
		if crd.Excluded {
			out++
		}
	}
	fmt.Fprintf(o.Out, "%s: %d opted in with %s=%s, %d left out on purpose\n", words.Count(len(report.CRDs), "CRD"), in, o.LabelKey, v1alpha1.MigrateLabelValue, out)
	return nil
}

func printFindings(out io.Writer, findings []reportedFinding) {
	for _, f := range findings {
		where := strings.TrimSpace(f.place + "  " + f.Resource)
		fmt.Fprintf(out, "%s: %s  %s\n  %s\n  mend: %s\n\n", f.Severity, f.Rule, where, f.Why, f.Mend)
	}
}
