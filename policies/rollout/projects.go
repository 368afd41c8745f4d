package rollout

import (
	"fmt"
	"path"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// member is an object that an AppProject has to permit.
type member struct {
	unit          *delivery.Unit
	object        *delivery.Object
	crd           string
	clusterScoped bool
}

// projectMembers are the CRDs that change and the gates for them.
func (s *situation) projectMembers() []member {
	members := words.Of(s.changed, func(crd changedCRD) member { return member{crd.node.unit, crd.object, crd.Name, true} })
	for _, g := range s.guards() {
		members = append(members, member{g.gate.unit, g.gate.object, g.crd.Name, false})
	}
	return members
}

// projectForbids: a sync with one object that its AppProject does not permit fails before its first wave.
func projectForbids(s *situation, m member) *finding.Finding {
	project := s.project(m.unit)
	if project == nil {
		return nil
	}
	field, forbidden := forbids(project, m.object, m.clusterScoped)
	if !forbidden {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Error, CRD: m.crd, Place: project.Place("spec", field),
		Why:         fmt.Sprintf("%s belongs to the AppProject %s, which does not permit a %s (spec.%s), so its sync fails", m.unit.Name, project.GetName(), m.object.GetKind(), field),
		Remediation: fmt.Sprintf("permit group %s, kind %s there", m.object.GroupVersionKind().Group, m.object.GetKind()),
	}
}

// project is the AppProject of an Application, nil if it is not in the repository.
func (s *situation) project(u *delivery.Unit) *delivery.Object {
	if u.By == nil || u.Tool != delivery.ArgoCD {
		return nil
	}
	for _, object := range s.head.Named("AppProject", "", u.By.Text("spec", "project")) {
		if object.Is("argoproj.io", "AppProject") {
			return object
		}
	}
	return nil
}

// forbids reports whether an AppProject does not permit an object, and which of its lists is why. What is cluster-scoped
// has to be on a list; what is not has to be on the list only if there is one.
func forbids(project, object *delivery.Object, clusterScoped bool) (field string, forbidden bool) {
	scope := "namespace"
	if clusterScoped {
		scope = "cluster"
	}
	if denied := scope + "ResourceBlacklist"; lists(project, denied, object) {
		return denied, true
	}
	permitted := scope + "ResourceWhitelist"
	if !clusterScoped && len(project.Entries("spec", permitted)) == 0 {
		return "", false
	}
	return permitted, !lists(project, permitted, object)
}

func lists(project *delivery.Object, field string, object *delivery.Object) bool {
	gvk := object.GroupVersionKind()
	return slices.ContainsFunc(project.Entries("spec", field), func(entry *delivery.Object) bool {
		group, groupErr := path.Match(entry.Text("group"), gvk.Group)
		kind, kindErr := path.Match(entry.Text("kind"), gvk.Kind)
		return group && kind && groupErr == nil && kindErr == nil
	})
}
