package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

const key = "moult.dev/migrate"

// A world is the manifests of a cluster, those of each unit below a line with the unit's name. In both worlds the head
// removes v1alpha1 behind a gate, and there is nothing to find.
const (
	crdBefore = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  annotations: {crd: here}
  labels: {moult.dev/migrate: "true"}
spec:
  conversion: {strategy: None}
  versions:
  - {name: v1alpha1, served: true, storage: false}
  - {name: v1, served: true, storage: true}
`
	crdAfter = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  annotations: {crd: here}
  labels: {moult.dev/migrate: "true"}
spec:
  conversion: {strategy: None}
  versions:
  - {name: v1, served: true, storage: true}
`
	theGate = `
apiVersion: moult.dev/v1alpha1
kind: VersionRemoval
metadata: {name: gone, namespace: widgets, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
spec: {crdName: widgets.example.com, versions: [v1alpha1]}
`
	fluxWiring = `
=== entry
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gates, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: widgets}
  path: ./gates
  prune: true
  wait: true # gates
  timeout: 10m
  interval: 10m
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: crds, namespace: flux-system}
spec:
  dependsOn: [{name: gates}]
  sourceRef: {kind: GitRepository, name: widgets}
  path: ./crds
  prune: false # crds
  interval: 10m
`
	argoWiring = `
=== entry
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: widgets, namespace: argocd, annotations: {of: widgets}}
spec:
  source: {path: widgets}
  destination: {namespace: widgets}
  syncPolicy:
    automated: {prune: true}
    syncOptions: [CreateNamespace=true]
    retry: {limit: 5, refresh: true}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  resource.customizations.health.moult.dev_VersionRemoval: return {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data:
  controller.sync.timeout.seconds: "3600"
`
	appOfApps = `
=== entry
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: all, namespace: argocd}
spec: {source: {path: all}, destination: {namespace: argocd}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  resource.customizations.health.moult.dev_VersionRemoval: return {}
  resource.customizations.health.argoproj.io_Application: return {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data: {controller.sync.timeout.seconds: "3600"}
=== argocd/all
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gates, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {source: {path: gates}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: crds, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "2"}}
spec: {source: {path: crds}}
`
)

// inSteps are Applications as an ApplicationSet generates them. The label set is its name.
const inSteps = `
=== entry
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: two, namespace: argocd}
spec:
  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{key: step, operator: In, values: [first]}]
      - matchExpressions: [{key: step, operator: In, values: [second]}]
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gates, namespace: argocd, labels: {set: two, step: first}}
spec: {source: {path: gates}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: crds, namespace: argocd, labels: {set: two, step: second}}
spec: {source: {path: crds}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  resource.customizations.health.moult.dev_VersionRemoval: return {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data: {controller.sync.timeout.seconds: "3600"}
`

// inAnApplication are Kustomizations that Argo CD applies wave by wave.
const inAnApplication = `
=== entry
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: all, namespace: argocd}
spec: {source: {path: all}}
=== argocd/all
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gates, namespace: flux-system, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {path: ./gates, interval: 10m, wait: true}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: crds, namespace: flux-system, annotations: {argocd.argoproj.io/sync-wave: "2"}}
spec: {path: ./crds, interval: 10m}
`

// worlds are pairs of base and head.
var worlds = map[string][2]string{
	"Flux": {
		fluxWiring + "=== flux-system/gates\n=== flux-system/crds" + crdBefore,
		fluxWiring + "=== flux-system/gates" + theGate + "=== flux-system/crds" + crdAfter,
	},
	"Argo CD": {
		argoWiring + "=== argocd/widgets" + crdBefore,
		argoWiring + "=== argocd/widgets" + theGate + "---" + crdAfter,
	},
	"app of apps": {
		appOfApps + "=== argocd/gates\n=== argocd/crds" + crdBefore,
		appOfApps + "=== argocd/gates" + theGate + "=== argocd/crds" + crdAfter,
	},
	"steps": {
		inSteps + "=== argocd/gates\n=== argocd/crds" + crdBefore,
		inSteps + "=== argocd/gates" + theGate + "=== argocd/crds" + crdAfter,
	},
	"Flux in Argo CD": {
		inAnApplication + "=== flux-system/gates\n=== flux-system/crds" + crdBefore,
		inAnApplication + "=== flux-system/gates" + theGate + "=== flux-system/crds" + crdAfter,
	},
	"release": {
		"=== entry\n" + aRelease + "=== HelmRelease widgets/chart" + crdBefore,
		"=== entry\n" + aRelease + "=== HelmRelease widgets/chart" + crdBefore,
	},
	"Helm": { // rendered, with nothing that says who applies it
		"=== stdin" + crdBefore,
		"=== stdin" + strings.ReplaceAll(theGate, "argocd.argoproj.io/sync-wave", "none") + "---" + crdAfter,
	},
}

// edited replaces texts, each of which has to be there.
func edited(t *testing.T, text string, edits []string) string {
	t.Helper()
	for i := 0; i+1 < len(edits); i += 2 {
		NewWithT(t).Expect(text).To(ContainSubstring(edits[i]))
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	return text
}

// clusterOf reads a world. Places are the unit's name and what the field is.
func clusterOf(t *testing.T, text string) delivery.Cluster {
	t.Helper()
	c := delivery.Cluster{Name: "production"}
	for section := range strings.SplitSeq(text, "=== ") {
		name, manifests, _ := strings.Cut(section, "\n")
		if strings.TrimSpace(name) == "" {
			continue
		}
		name, unseen := strings.CutSuffix(name, " (unseen)")
		name, kept := strings.CutSuffix(name, " (crds/)")
		u := &delivery.Unit{Name: name}
		if unseen {
			u.Unseen = "it is elsewhere"
		}
		for manifest := range strings.SplitSeq(manifests, "---\n") {
			object := &unstructured.Unstructured{}
			NewWithT(t).Expect(yaml.Unmarshal([]byte(manifest), &object.Object)).To(Succeed(), manifest)
			if len(object.Object) > 0 {
				u.Objects = append(u.Objects, &delivery.Object{Unstructured: object, At: func(fields ...string) finding.Place {
					return finding.Place{File: fmt.Sprintf("%s/%s/%s", name, object.GetName(), strings.Join(fields, "."))}
				}})
			}
		}
		if kept {
			u.Kept = u.Objects
		}
		c.Units = append(c.Units, u)
	}
	for _, u := range c.Units {
		wire(&c, u)
	}
	for _, u := range c.Units {
		if u.Unseen != "" && u.By != nil {
			c.Unseen = append(c.Unseen, unseenOf(t, u.By))
		}
		for _, object := range u.Objects {
			if object.GetKind() == "HelmRelease" && c.Unit(nameOf(object)) == nil {
				c.Unseen = append(c.Unseen, unseenOf(t, object))
			}
		}
	}
	return c
}

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
