package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/labelorigin"
)

const intoGit = "put the label into the CRD's manifest in Git; `moult opt-in PATH` does it for a kustomization"

// labelInGit: what is only on the live object goes with the next sync, or the next cluster.
func labelInGit(c ClusterState) Result {
	if len(c.CRDs) == 0 {
		return Result{Findings: []finding.Finding{{Severity: finding.Error, Object: "all CRDs", Remediation: intoGit,
			Why: fmt.Sprintf("no CRD carries the label %s: %q, so nothing is migrated", c.LabelKey, v1alpha1.MigrateLabelValue)}}}
	}
	from := map[string]bool{}
	r := Result{Findings: c.all(func(crd ExaminedCRD) []finding.Finding {
		v := labelorigin.Of(crd, c.LabelKey)
		f := finding.Finding{Severity: finding.Warning, Object: crd.Name, Why: fmt.Sprintf("the label %s is %s", c.LabelKey, v), Remediation: intoGit}
		switch v.Origin {
		case labelorigin.Git:
			from[where(v)] = true
			return nil
		case labelorigin.None:
			f.Severity = finding.Error
			f.Why = fmt.Sprintf("it does not carry the label %s: %q, so nothing migrates its objects", c.LabelKey, v1alpha1.MigrateLabelValue)
		case labelorigin.LiveOnly:
			if v.Lost {
				f.Severity = finding.Error
			}
		case labelorigin.Unknown:
			f.Severity, f.Remediation = finding.Info, "if it is not in Git, "+intoGit
			f.Why = fmt.Sprintf("of the label %s: %s", c.LabelKey, v)
		}
		return []finding.Finding{f}
	})}
	r.Evidence = "the CRDs do not show whether the label is in Git"
	if len(from) > 0 {
		r.Evidence = fmt.Sprintf("the label is in what is applied by %s", strings.Join(slices.Sorted(maps.Keys(from)), ", "))
	}
	return r
}

// crdInGit: what an operator applies from its image waits for no gate.
func crdInGit(c ClusterState) Result {
	return Result{Evidence: "no CRD is applied by an operator", Findings: c.all(func(crd ExaminedCRD) []finding.Finding {
		operator := labelorigin.Operator(crd)
		if operator == "" {
			return nil
		}
		return []finding.Finding{{Severity: finding.Warning, Object: crd.Name, Why: labelorigin.NotInGit(operator), Remediation: labelorigin.HoldTheOperator}}
	})}
}

func where(v labelorigin.Verdict) string {
	if v.Object == "" {
		return string(v.Tool)
	}
	return fmt.Sprintf("%s (%s)", v.Tool, v.Object)
}
