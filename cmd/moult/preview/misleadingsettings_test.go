package preview

import (
	"encoding/base64"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// misleadingSettings are settings of tools by which something else arrives than before.
var misleadingSettings = map[string]overlooked{
	"a project that forbids CRDs": {
		common: files{"apps/a.yaml": appTo("a", "crds", own, ""), "crds/w.yaml": widgetsCRD},
		base:   files{"apps/p.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: default, namespace: argocd}\nspec: {clusterResourceBlacklist: [{group: apiextensions.k8s.io, kind: '*'}]}\n"},
		head:   files{"apps/p.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: default, namespace: argocd}\nspec: {}\n"},
	},
	"a setting that leaves CRDs out": {
		common: files{"apps/a.yaml": appTo("a", "crds", own, ""), "crds/w.yaml": widgetsCRD},
		base:   files{"apps/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\ndata: {resource.exclusions: '[{kinds: [CustomResourceDefinition]}]'}\n"},
		head:   files{"apps/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\ndata: {}\n"},
	},
	"a kustomization beside a chart": swapped("c/w.yaml", itself, also(files{"c/kustomization.yaml": "resources: [w.yaml]\n"}, ofArgoCD("")), ""),
	"a directory beside a kustomization": swapped("c/w.yaml", itself, files{
		"apps/a.yaml": appTo("a", "c", own, ", directory: {recurse: true}"), "c/kustomization.yaml": "resources: [x.yaml]\n", "c/x.yaml": aConfigMap,
	}, ""),
	"the label of what a ResourceSet takes": bump("clusters/a/p.yaml", "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: p, namespace: flux-system, labels: {v: 1.0.0}}\nspec: {type: Static, defaultValues: {v: one}}\n",
		files{"clusters/a/r.yaml": strings.Replace(resourceSet, "inputs: [{v: one}]", "inputsFrom: [{selector: {matchLabels: {v: 1.0.0}}}]", 1)}),
	"a ResourceSet that was not looked at": {
		common: files{"clusters/a/x.yaml": aConfigMap}, base: files{"clusters/a/r.yaml": strings.Replace(resourceSet, "metadata: {", "metadata: {annotations: {fluxcd.controlplane.io/reconcile: disabled}, ", 1)}, head: files{"clusters/a/r.yaml": resourceSet}, entry: "clusters/a",
	},
	"when a ClusterResourceSet applies": {
		base: files{"hub/s.yaml": strings.Replace(resourcesOf, "spec: {", "spec: {strategy: ApplyOnce, ", 1)}, head: files{"hub/s.yaml": strings.Replace(resourcesOf, "spec: {", "spec: {strategy: Reconcile, ", 1)}, entry: "hub",
	},
	"a command in a container of a chart that is not seen": bump("rel/r.yaml", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\n"+
		"spec: {interval: 1h, chart: {spec: {chart: c, version: 3.0.0, sourceRef: {kind: HelmRepository, name: r}}}, values: {initContainers: [{name: i, image: x, command: [kubectl, apply, -f, 'https://example.com/1.0.0.yaml']}]}}\n", files{"clusters/a/k.yaml": fluxTo("./rel", "")}),
	"an operator that installs CRDs": inHub("apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: k}\nspec: {imageTag: v1.0.0}\n"),
	"a policy about all kinds":       inHub("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: [{match: {any: [{resources: {kinds: ['*']}}]}, mutate: {patchesJson6902: '1.0.0'}}]}\n"),
	"manifests of Talos":             inHub("apiVersion: bootstrap.cluster.x-k8s.io/v1alpha3\nkind: TalosConfigTemplate\nmetadata: {name: t}\nspec: {template: {spec: {configPatches: [{op: add, path: /cluster/extraManifests, value: ['https://example.com/1.0.0.yaml']}]}}}\n"),
	"an Application with another name and another branch": {
		common: files{"crds/w.yaml": widgetsCRD}, base: files{"apps/a.yaml": appTo("a", "crds", own, "")}, head: files{"apps/a.yaml": strings.Replace(appTo("b", "crds", own, ""), "HEAD", "release", 1)},
	},
	"what the repository of the entry point leaves out": {
		common: also(files{"clusters/a/w.yaml": widgetsCRD, "clusters/a/k.yaml": fluxTo("./clusters/a", " sourceRef: {kind: GitRepository, name: flux-system},")}, files{}), base: files{"clusters/a/s.yaml": ofFlux("")["clusters/a/s.yaml"]},
		head: files{"clusters/a/s.yaml": strings.Replace(ofFlux("")["clusters/a/s.yaml"], "interval: 1h", "interval: 1h, ignore: w.yaml", 1)}, entry: "clusters/a",
	},
	"a class in the pattern of a directory": swapped("crds/w.yaml", itself, files{"apps/a.yaml": appTo("a", "crds", own, ", directory: {include: '[v-w].yaml'}")}, ""),
	"the CRDs of a chart that is installed anew": {
		common: also(files{"c/Chart.yaml": chartC}, ofFlux("")),
		base:   files{"c/crds/w.yaml": widgetsCRD, "rel/r.yaml": ofFlux(", install: {crds: CreateReplace}, upgrade: {crds: Skip}")["rel/r.yaml"]},
		head:   files{"c/crds/w.yaml": without, "rel/r.yaml": ofFlux(", releaseName: other, install: {crds: CreateReplace}, upgrade: {crds: Skip}")["rel/r.yaml"]},
	},
	"a script that a Secret packs": {
		base: files{"hub/s.yaml": packedScript("1.0.0")}, head: files{"hub/s.yaml": packedScript("2.0.0")}, entry: "hub",
	},
	"an image that has what a command applies": inHub("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {volumes: [{name: m, image: {reference: 'm:1.0.0'}}], containers: [{name: a, image: k, command: [kubectl, apply, -f, /m]}]}\n"),
}

func packedScript(release string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {run: " + base64.StdEncoding.EncodeToString([]byte("kubectl apply -f https://example.com/"+release+".yaml\n")) + "}\n"
}

// What stays out of sight alike, and what a tool passes over, is no reason to ask.
func TestSettingsNeedNotMatter(t *testing.T) {
	for name, c := range map[string]overlooked{
		"a project for others":     bump("apps/p.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: default, namespace: argocd}\nspec: {sourceRepos: ['1.0.0'], clusterResourceBlacklist: [{group: '', kind: Node}]}\n", files{"apps/a.yaml": appTo("a", "crds", own, ""), "crds/w.yaml": widgetsCRD}),
		"Argo CD's other settings": bump("apps/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\ndata: {url: '1.0.0', resource.exclusions: '[{kinds: [Node]}]'}\n", files{"apps/a.yaml": appTo("a", "crds", own, ""), "crds/w.yaml": widgetsCRD}),
		"an Application with another name": {
			common: files{"crds/w.yaml": widgetsCRD}, base: files{"apps/a.yaml": appTo("a", "crds", own, "")}, head: files{"apps/a.yaml": appTo("b", "crds", own, "")},
		},
		"settings of a unit that gets its first CRD": {
			common: files{"apps/a.yaml": appTo("a", "crds", own, ""), "apps/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\ndata: {resource.exclusions: '[{kinds: [\"*\"]}]'}\n", "d/w.yaml": widgetsCRD, "apps/d.yaml": appTo("d", "d", own, "")},
			base:   files{"crds/x.yaml": aConfigMap}, head: files{"crds/w.yaml": widgetsCRD},
		},
		"a hook that Argo CD does not run": hookSwapped("test", ofArgoCD("")),
		"a note of a chart in Git":         bump("c/templates/NOTES.txt", "1.0.0", also(files{"c/templates/w.yaml": widgetsCRD}, ofFlux(""))),
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}
