package rollout

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
)

// optinFindings are what policies/optin finds about the units that apply a CRD that changes: force, Replace=true, ignored
// differences and so on. What it finds about other CRDs is not this pull request's.
func optinFindings(s *situation) []finding.Finding {
	q := optin.Question{LabelKey: s.labelKey, ArgoCDConfig: s.configMaps("argocd-cm"), About: func(crd string) bool {
		_, changes := s.changes[crd]
		return changes
	}}
	var findings []finding.Finding
	for _, u := range s.head.Units {
		q.Unseen = s.unitChanges(u)
		for _, f := range optin.Check(u, q) {
			if f.Rule == optin.NotLabelled {
				if s.changes[f.CRD].Base.OptedIn() {
					continue // labelDropped says it
				}
				f.Severity = finding.Warning // nothing breaks by it; a gate that it keeps shut is GateCannotOpen
			}
			findings = append(findings, f.Finding)
		}
	}
	return findings
}

// unitChanges tells whether the pull request touches a unit's own object.
func (s *situation) unitChanges(u *delivery.Unit) bool {
	before := s.base.Unit(u.Name)
	return before == nil || before.By == nil || u.By == nil || !equality.Semantic.DeepEqual(before.By.Object, u.By.Object)
}
