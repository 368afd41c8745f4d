package preview

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// lacking takes the version of a chart from a ConfigMap that is not among its manifests.
var lacking = files{
	"clusters/a/k.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: rel, namespace: flux-system}\n" +
		"spec: {path: ./rel, prune: true, interval: 10m, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substituteFrom: [{kind: ConfigMap, name: cluster-vars}]}}\n",
	"rel/r.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\nspec: {interval: 1h, chart: {spec: {chart: c, version: '${V}', sourceRef: {kind: HelmRepository, name: r}}}}\n",
}

const (
	theVariables = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster-vars, namespace: flux-system}\ndata: {V: 1.0.0}\n"
	aSet         = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n  generators: [{clusters: {}}]\n  template:\n    metadata: {name: a}\n" +
		"    spec: {project: default, destination: {name: x}, source: {repoURL: 'https://charts.example.com', chart: c, targetRevision: '{{metadata.annotations.v}}'}}\n"
	aCluster = "apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: {argocd.argoproj.io/secret-type: cluster}, annotations: {v: 1.0.0}}\n"
)

// misleadingMakers make what manifests take something from, and are no manifests of any unit.
var misleadingMakers = map[string]overlooked{
	"variables that are applied by hand": bump("bootstrap/v.yaml", theVariables, lacking),
	"variables of a script":              bump("up.sh", "kubectl create configmap cluster-vars -n flux-system --from-literal=V=1.0.0\n", lacking),
	"a file of variables of a script":    bump("v.env", "V=1.0.0\n", also(files{"up.sh": "kubectl create configmap cluster-vars --from-env-file=v.env\n"}, lacking)),
	"variables of a pipeline":            bump(".github/workflows/a.yaml", "on: push\njobs: {a: {steps: [{run: 'kubectl create configmap cluster-vars --from-literal=V=1.0.0'}]}}\n", lacking),
	"variables of Terraform's":           bump("tf/v.tf", "resource \"kubernetes_config_map_v1\" \"v\" {\n  metadata {\n    name = \"cluster-vars\"\n  }\n  data = { V = \"1.0.0\" }\n}\n", lacking),
	"a variable of these":                bump("tf/prod.tfvars", "v = \"1.0.0\"\n", also(files{"tf/v.tf": "resource \"kubernetes_config_map\" \"v\" {\n  metadata {\n    name = \"cluster-vars\"\n  }\n  data = { V = var.v }\n}\n"}, lacking)),
	"variables that another cluster has": bump("mgmt/w.yaml", "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: w}\nspec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cluster-vars}, data: {V: 1.0.0}}]}}\n", lacking),
	"a repository that is applied by hand": bump("bootstrap/s.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: o, namespace: flux-system}\nspec: {url: 'https://git.example.com/o', ref: {tag: v1.0.0}, interval: 1h}\n",
		files{"clusters/a/k.yaml": fluxTo("./crds", " sourceRef: {kind: GitRepository, name: o},")}),
	"a cluster that is applied by hand": bump("bootstrap/c.yaml", aCluster, files{"apps/a.yaml": aSet}),
	"a cluster of a command's":          bump("up.sh", "argocd cluster add x --annotation v=1.0.0\n", files{"apps/a.yaml": aSet}),
	"a cluster of a chart's": bump("reg/values.yaml", "v: 1.0.0\n", files{
		"apps/a.yaml": aSet, "reg/Chart.yaml": chartC, "reg/templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: {argocd.argoproj.io/secret-type: cluster}, annotations: {v: '{{ .Values.v }}'}}\n",
	}),
	"a value that Flux takes for none": {
		common: also(files{"c/templates/w.yaml": "{{ if .Values.old }}\n" + widgetsCRD + "{{ end }}\n", "c/values.yaml": "old: true\n"}, ofFlux("")),
		base:   files{"c/prod.yaml": "a: b\nold: true\n", "rel/r.yaml": withValuesFiles}, head: files{"c/prod.yaml": "a: b\n", "rel/r.yaml": withValuesFiles},
	},
}

const withValuesFiles = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: it}\n" +
	"spec: {interval: 1h, chart: {spec: {chart: ./c, valuesFiles: [c/prod.yaml], sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}}\n"

func TestWhatMakesValuesIsSeen(t *testing.T) {
	for name, c := range misleadingMakers {
		c.entry = "clusters/a"
		if c.common["apps/a.yaml"] != "" {
			c.entry = "apps"
		}
		t.Run(name, c.isSeen)
	}
}

// What was looked through for that, and makes nothing, was not read: it may be what another entry point is built of.
func TestWhatMakesNothingIsStillCompared(t *testing.T) {
	t.Run("a kustomization beside", overlooked{
		common: also(files{"crds/w.yaml": widgetsCRD, "crds/kustomization.yaml": "resources: [w.yaml]\n"}, lacking),
		base:   files{"other/kustomization.yaml": "resources: [../crds]\n"},
		head:   files{"other/kustomization.yaml": "resources: [../crds]\npatches:\n- patch: |-\n    - {op: remove, path: /spec/versions/0}\n  target: {kind: CustomResourceDefinition}\n"},
	}.isSeen)
}

// What makes something else, or only names it, is no reason to ask.
func TestWhatMakesOthersIsIrrelevant(t *testing.T) {
	for name, c := range map[string]overlooked{
		"other variables":          bump("bootstrap/v.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other-vars, namespace: flux-system}\ndata: {V: 1.0.0}\n", lacking),
		"another who takes them":   bump("other/k.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: 'i:1.0.0', envFrom: [{configMapRef: {name: cluster-vars}}]}]}\n", lacking),
		"a page that names them":   bump("docs/README.md", "The ConfigMap cluster-vars has V=1.0.0.\n", lacking),
		"a chart's other defaults": {common: also(files{"c/templates/w.yaml": "{{ if .Values.old }}\n" + widgetsCRD + "{{ end }}\n", "c/prod.yaml": "old: true\n"}, also(files{"rel/r.yaml": withValuesFiles}, ofFlux(""))), base: files{"c/values.yaml": "old: true\n"}, head: files{"c/values.yaml": "old: false\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline", "--entry", "clusters/a")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}
