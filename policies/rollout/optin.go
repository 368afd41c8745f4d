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
func optinFindings(s *situation) []finding.Finding {
	q := optin.Question{LabelKey: s.labelKey, ArgoCDConfig: s.configMaps("argocd-cm"), SameClusters: s.head.Units, About: func(crd string) bool {
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
				f.Severity = finding.Info // nothing breaks by it; a gate that it keeps shut is GateCannotOpen
				if s.leavesStored(f.CRD) {
					f.Severity = finding.Warning
				}
			}
			if f.Rule == optin.Substituted && s.wasSubstituted(u, f, q) {
				f.Severity = finding.Info // this change has not caused it
			}
			findings = append(findings, f.Finding)
		}
	}
	return append(findings, forcedFromNowOn(s, q)...)
}

// wasSubstituted reports whether a unit has put the same into a CRD before.
func (s *situation) wasSubstituted(u *delivery.Unit, f optin.Found, q optin.Question) bool {
	before := s.base.Unit(u.Name)
	return before != nil && slices.ContainsFunc(optin.Check(before, q), func(had optin.Found) bool {
		return had.Rule == f.Rule && had.CRD == f.CRD && had.Why == f.Why
	})
}

// forcedFromNowOn finds units that delete and recreate what the API server refuses, while their CRDs stay as they are.
// Nothing is lost by that now, but with the next change that is refused.
func forcedFromNowOn(s *situation, q optin.Question) []finding.Finding {
	q.About = func(crd string) bool {
		_, changes := s.changes[crd]
		return !changes
	}
	var findings []finding.Finding
	for _, u := range s.head.Units {
		before := s.base.Unit(u.Name)
		if u.By == nil || before == nil || !s.unitChanges(u) {
			continue
		}
		had := optin.Check(before, q)
		for _, f := range optin.Check(u, q) {
			if f.Rule == optin.Recreated && !slices.ContainsFunc(had, func(h optin.Found) bool { return h.Rule == f.Rule }) {
				f.Severity = finding.Warning
				findings = append(findings, f.Finding)
			}
		}
	}
	return findings
}

// unitChanges reports whether the pull request touches a unit's own object.
func (s *situation) unitChanges(u *delivery.Unit) bool {
	before := s.base.Unit(u.Name)
	return before == nil || before.By == nil || u.By == nil || !equality.Semantic.DeepEqual(before.By.Object, u.By.Object)
}

// leavesStored reports whether the pull request makes a version of a CRD one at which objects are only stored from now on.
// It does so if it flips the storage version, or takes a version out.
func (s *situation) leavesStored(crd string) bool {
	c := s.changes[crd]
	return len(c.Removed) > 0 || c.Base != nil && c.Head != nil && c.Base.Storage != c.Head.Storage
}
