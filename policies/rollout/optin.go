package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
)

// optinFindings are what policies/optin finds about the units that apply a CRD that changes: force, Replace=true, ignored
// differences and so on. What it finds about other CRDs is not this pull request's.
func optinFindings(l *look) []finding.Finding {
	q := optin.Question{LabelKey: l.labelKey, ArgoCDConfig: l.configMaps("argocd-cm")}
	var findings []finding.Finding
	for _, u := range l.head.Units {
		findings = append(findings, l.taken(optin.Check(u, q))...)
		if u.Incomplete() && l.unitChanges(u) {
			unseen := q
			unseen.Unseen = true
			findings = append(findings, l.taken(optin.Check(u, unseen))...)
		}
	}
	return findings
}

// unitChanges tells whether the pull request touches a unit's own object.
func (l *look) unitChanges(u *delivery.Unit) bool {
	before := l.base.Unit(u.Name)
	return before == nil || before.By == nil || u.By == nil || !equality.Semantic.DeepEqual(before.By.Object, u.By.Object)
}

// taken are the findings about CRDs that change.
func (l *look) taken(found []optin.Found) []finding.Finding {
	var findings []finding.Finding
	for _, f := range found {
		crds := slices.DeleteFunc(slices.Clone(f.CRDs), func(name string) bool { _, ok := l.changes[name]; return !ok })
		if len(crds) == 0 && len(f.CRDs) > 0 {
			continue
		}
		if f.Rule == optin.NotLabelled && len(crds) == 1 && l.changes[crds[0]].Base.OptedIn() {
			continue // labelDropped says it
		}
		taken := f.Located()
		if len(crds) == 1 {
			taken.CRD = crds[0]
		}
		if f.Rule == optin.NotLabelled {
			taken.Severity = finding.Warning // nothing breaks by it; a gate that it keeps shut is GateCannotOpen
		}
		findings = append(findings, taken)
	}
	return findings
}
