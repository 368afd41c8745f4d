package rollout

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

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
