package rollout

import (
	"fmt"
	"path"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// projectForbids: a sync with one object that its AppProject does not permit fails before its first wave.
func projectForbids(l *look) []finding.Finding {
	var findings []finding.Finding
	find := func(u *delivery.Unit, object *delivery.Object, crd string, clusterScoped bool) {
		project := l.project(u)
		if project == nil {
			return
		}
		field, forbidden := forbids(project, object, clusterScoped)
		if !forbidden {
			return
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Error, CRD: crd, Place: project.Place("spec", field),
			Why:  fmt.Sprintf("%s belongs to the AppProject %s, which does not permit a %s (spec.%s), so its sync fails", u.Name, project.GetName(), object.GetKind(), field),
			Mend: fmt.Sprintf("permit group %s, kind %s there", object.GroupVersionKind().Group, object.GetKind()),
		})
	}
	for _, d := range l.changed {
		find(d.node.unit, d.object, d.Name, true)
	}
	for _, g := range l.guards() {
		find(g.gate.unit, g.gate.object, g.crd.Name, false)
	}
	return findings
}

// project is the AppProject of an Application, nil if it is not in the repository.
func (l *look) project(u *delivery.Unit) *delivery.Object {
	if u.By == nil || u.Tool != delivery.ArgoCD {
		return nil
	}
	for _, around := range l.head.Units {
		for _, object := range around.Objects {
			if object.Is("argoproj.io", "AppProject") && object.GetName() == u.By.Text("spec", "project") {
				return object
			}
		}
	}
	return nil
}

// forbids tells whether an AppProject does not permit an object, and which of its lists is why. What is cluster-scoped
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
