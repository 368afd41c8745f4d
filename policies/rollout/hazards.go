package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
)

// optinFindings are what policies/optin finds about the units that apply a CRD that changes: force, Replace=true, ignored
// differences and so on. What it finds about other CRDs is not this pull request's.
func optinFindings(l *look) []finding.Finding {
	configs := contents(l.configMaps("argocd-cm"))
	var findings []finding.Finding
	for i := range l.head.Units {
		u := &l.head.Units[i]
		checked := optin.Unit{Name: u.Name, Objects: contents(u.Objects), ArgoCDConfig: configs}
		deliveries := []*optin.Delivery{nil}
		if len(u.Deliveries) > 0 {
			deliveries = deliveries[:0]
			for j := range u.Deliveries {
				deliveries = append(deliveries, &u.Deliveries[j])
			}
		}
		for _, delivery := range deliveries {
			checked.Delivery = delivery
			findings = append(findings, l.taken(u, optin.Check(checked, l.labelKey))...)
			if u.Unseen && l.unitChanges(u) {
				unseen := checked
				unseen.Objects, unseen.Unseen = nil, true
				findings = append(findings, l.taken(u, optin.Check(unseen, l.labelKey))...)
			}
		}
	}
	return findings
}

// unitChanges tells whether the pull request touches a unit's own object.
func (l *look) unitChanges(u *Unit) bool {
	before := l.base.unit(u.Name)
	return before == nil || before.By == nil || u.By == nil || !equality.Semantic.DeepEqual(before.By.Object, u.By.Object)
}

// taken turns findings about CRDs that change into those of a rollout.
func (l *look) taken(u *Unit, found []optin.Finding) []finding.Finding {
	var findings []finding.Finding
	for _, f := range found {
		crds := slices.DeleteFunc(slices.Clone(f.CRDs), func(name string) bool { _, ok := l.changes[name]; return !ok })
		if len(crds) == 0 && len(f.CRDs) > 0 {
			continue
		}
		if f.Rule == optin.NotLabelled && len(crds) == 1 && optedIn(l.changes[crds[0]].Base) {
			continue // labelDropped says it
		}
		taken := finding.Finding{Rule: string(f.Rule), Severity: finding.Severity(f.Severity), Why: f.Why, Mend: f.Mend}
		taken.Place = l.placeOf(u, f)
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

// placeOf is where the object of a finding stands.
func (l *look) placeOf(u *Unit, f optin.Finding) finding.Place {
	if u.By != nil && f.Object == u.By.Unstructured {
		return u.By.place(f.Field...)
	}
	for i := range l.head.Units {
		for _, object := range l.head.Units[i].Objects {
			if object.Unstructured == f.Object {
				return object.place(f.Field...)
			}
		}
	}
	return finding.Place{}
}

func contents(objects []*Object) []*unstructured.Unstructured {
	found := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		found[i] = object.Unstructured
	}
	return found
}
