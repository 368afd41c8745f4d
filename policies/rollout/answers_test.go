package rollout

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
)

// unseenOf is what clusters/desired says of what cannot be seen.
func unseenOf(t *testing.T, by *delivery.Object) delivery.Unseen {
	t.Helper()
	content, err := yaml.Marshal(by.Object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return delivery.Unseen{Name: by.GetKind() + " " + by.GetNamespace() + "/" + by.GetName(), By: by, Why: "it is elsewhere", Fingerprint: string(content)}
}

// nameOf is what the unit is called that an object applies, empty if it applies none.
func nameOf(object *delivery.Object) string {
	switch name := object.GetNamespace() + "/" + object.GetName(); {
	case object.GetKind() == "HelmRelease":
		return "HelmRelease " + name
	case delivery.ToolOf(object) != "":
		return name
	}
	return ""
}

// wire finds out who applies a unit, as clusters/desired does.
func wire(c *delivery.Cluster, u *delivery.Unit) {
	for _, around := range c.Units {
		for _, object := range around.Objects {
			if nameOf(object) != u.Name {
				continue
			}
			if object.GetKind() == "HelmRelease" {
				u.By, u.Parent, u.Tool = object, around, delivery.Helm
				u.Charts = []string{object.Text("spec", "chart", "spec", "chart") + " " + object.Text("spec", "chart", "spec", "version")}
				continue
			}
			u.By, u.Parent, u.Sources, u.Tool = object, around, delivery.SourcesOf(object), delivery.ToolOf(object)
			u.Pinned = object.Text("spec", "source", "targetRevision")
			u.Set = setOf(around, object)
			for _, entry := range object.Entries("spec", "dependsOn") {
				u.DependsOn = append(u.DependsOn, delivery.ReferenceOf(entry, u.By.GetNamespace()).String())
			}
		}
	}
}

// setOf is the ApplicationSet that an Application is of, nil if it is of none.
func setOf(around *delivery.Unit, application *delivery.Object) *delivery.Object {
	for _, object := range around.Objects {
		if object.GetKind() == "ApplicationSet" && object.GetName() == application.GetLabels()["set"] {
			return object
		}
	}
	return nil
}

func shapeOf(crd *delivery.Object) *crddiff.Shape {
	if crd == nil {
		return nil
	}
	s := &crddiff.Shape{Conversion: crd.Text("spec", "conversion", "strategy")}
	if label, ok := crd.GetLabels()[key]; ok {
		s.Label = &label
	}
	for _, v := range crd.Entries("spec", "versions") {
		version := crddiff.Version{Name: v.Text("name"), Served: v.True("served"), Storage: v.True("storage")}
		if version.Storage {
			s.Storage = version.Name
		}
		s.Versions = append(s.Versions, version)
	}
	return s
}

// changesOf are the CRDs that differ.
func changesOf(base, head *delivery.Cluster) []crddiff.Diff {
	var changes []crddiff.Diff
	for _, name := range []string{"widgets.example.com", "gadgets.example.com"} {
		c := crddiff.Diff{Name: name, Base: shapeOf(base.CRD(name)), Head: shapeOf(head.CRD(name))}
		if c.Base != nil && c.Head != nil {
			for _, v := range c.Base.Versions {
				if !c.Head.Has(v.Name) {
					c.Removed = append(c.Removed, v.Name)
				}
			}
		}
		if before, after := base.CRD(name), head.CRD(name); (before != nil || after != nil) &&
			(before == nil || after == nil || !equality.Semantic.DeepEqual(before.Object, after.Object)) {
			changes = append(changes, c)
		}
	}
	return changes
}

// pullRequest is what Of is asked about.
type pullRequest struct {
	base, head delivery.Cluster
	changes    []crddiff.Diff
}

func (p pullRequest) rollout() Rollout { return Of(p.base, p.head, p.changes, key) }

// worldOf is a world with edits.
func worldOf(t *testing.T, world string, inBase, inHead []string) pullRequest {
	t.Helper()
	p := pullRequest{base: clusterOf(t, edited(t, worlds[world][0], inBase)), head: clusterOf(t, edited(t, worlds[world][1], inHead))}
	p.changes = changesOf(&p.base, &p.head)
	return p
}

// rolledOut is Of for a world.
func rolledOut(t *testing.T, world string, inBase, inHead []string) Rollout {
	t.Helper()
	return worldOf(t, world, inBase, inHead).rollout()
}

// found are rules with severities and places, sorted.
func found(r Rollout) []string {
	var names []string
	for _, f := range r.Findings {
		names = append(names, fmt.Sprintf("%s %s %s", f.Rule, f.Severity, f.Place))
	}
	slices.Sort(names)
	return names
}
