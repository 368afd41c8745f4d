package desired_test

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
)

// inGit is a chart in the repository whose ConfigMap says its values.
var inGit = files{
	"charts/c/Chart.yaml":          "apiVersion: v2\nname: c\nversion: 1.0.0\n",
	"charts/c/values.yaml":         "x: own\nw: too\n",
	"charts/c/templates/x.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {x: {{ .Values.x | quote }}, w: {{ .Values.w | quote }}, z: {{ printf \"%s/%s\" .Release.Namespace .Release.Name }}}\n",
	"charts/c/crds/x.yaml":         crd("x"),
	"charts/c/prod.yaml":           "x: prod",
	"env/prod.yaml":                "x: env",
	"charts/c/templates/crds.yaml": "{{ if .Values.crds }}" + crd("y") + "{{ end }}",
}

func with(f files, more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// inNamespace is a ConfigMap or a Secret beside the release.
func inNamespace(kind, name, data string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: flux-system}\n" + data + "\n---\n"
}

// brought are the data of the ConfigMap of the chart, and the names of all CRDs.
func brought(c *delivery.Cluster) string {
	var text string
	for _, object := range c.Objects() {
		if object.GetName() == "m" {
			text = strings.Join([]string{object.Text("data", "x"), object.Text("data", "w"), object.Text("data", "z")}, " ")
		}
	}
	for _, crd := range c.CRDs() {
		text += " " + crd.GetName()
	}
	return strings.TrimSpace(text)
}

func TestAnApplicationOfAChartInTheRepositoryIsRendered(t *testing.T) {
	const ours, theirs = "repoURL: 'https://git/ours'", "repoURL: 'https://git/theirs'"
	for name, c := range map[string]struct{ spec, want string }{
		"its own values":                {"source: {path: charts/c}", "own too there/a x"},
		"helm.valueFiles":               {"source: {path: charts/c, helm: {valueFiles: [prod.yaml, ../../env/prod.yaml]}}", "env too there/a x"},
		"one from the root":             {"source: {path: charts/c, helm: {valueFiles: [/env/prod.yaml]}}", "env too there/a x"},
		"one that is not there":         {"source: {path: charts/c, helm: {valueFiles: [none.yaml], ignoreMissingValueFiles: true}}", "own too there/a x"},
		"helm.values":                   {"source: {path: charts/c, helm: {valueFiles: [prod.yaml], values: 'x: text'}}", "text too there/a x"},
		"helm.valuesObject over these":  {"source: {path: charts/c, helm: {values: 'x: text', valuesObject: {x: object}}}", "object too there/a x"},
		"helm.parameters over these":    {"source: {path: charts/c, helm: {valuesObject: {x: object}, parameters: [{name: x, value: 'a,b'}, {name: w, value: '1', forceString: true}]}}", "a,b 1 there/a x"},
		"a variable of the build":       {"source: {path: charts/c, helm: {parameters: [{name: x, value: $ARGOCD_APP_NAME}]}}", "a too there/a x"},
		"helm.fileParameters":           {"source: {path: charts/c, helm: {fileParameters: [{name: x, path: prod.yaml}]}}", "x: prod too there/a x"},
		"helm.releaseName, namespace":   {"source: {path: charts/c, helm: {releaseName: r, namespace: n}}", "own too n/r x"},
		"helm.skipCrds":                 {"source: {path: charts/c, helm: {skipCrds: true}}", "own too there/a"},
		"CRDs among the templates":      {"source: {path: charts/c, helm: {skipCrds: true, valuesObject: {crds: true}}}", "own too there/a y"},
		"values of another source":      {"sources: [{path: charts/c, helm: {valueFiles: [$v/env/prod.yaml]}, " + ours + "}, {ref: v, " + ours + "}]", "env too there/a x"},
		"a source beside it":            {"sources: [{path: charts/c, " + ours + "}, {path: more, " + ours + "}]", "own too there/a x z"},
		"values of another repository":  {"sources: [{path: charts/c, helm: {valueFiles: [$v/env/prod.yaml]}, " + ours + "}, {ref: v, " + theirs + "}]", "Application argocd/a: charts/c is a chart; its values come from another repository, https://git/theirs"},
		"a file that is not there":      {"source: {path: charts/c, helm: {valueFiles: [none.yaml]}}", "Application argocd/a: charts/c is a chart; there is no file of values charts/c/none.yaml"},
		"a file outside":                {"source: {path: charts/c, helm: {valueFiles: [../../../../etc/passwd]}}", "Application argocd/a: charts/c is a chart; the file ../../../../etc/passwd: it is outside of the repository"},
		"a variable that nobody knows":  {"source: {path: charts/c, helm: {parameters: [{name: x, value: $ARGOCD_APP_REVISION}]}}", "Application argocd/a: charts/c is a chart; the value of $ARGOCD_APP_REVISION is not known"},
		"a chart that lacks something":  {"source: {path: charts/d}", "Application argocd/a: charts/d is a chart; its dependency e 1.0.0 is not in charts/ (the chart is not in this repository)"},
		"a chart of charts beside it":   {"source: {path: charts/f}", "own too there/a x"},
		"a chart of a newer Kubernetes": {"source: {path: charts/g, helm: {kubeVersion: '1.99'}}", "v1.99"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, with(inGit, files{
				"entry/root.yaml":     app("root", "source: {path: apps, "+ours+"}"),
				"apps/a.yaml":         app("a", "destination: {namespace: there}, "+c.spec),
				"more/z.yaml":         crd("z"),
				"charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\ndependencies: [{name: e, version: 1.0.0, repository: 'https://charts'}]\n",
				"charts/f/Chart.yaml": "apiVersion: v2\nname: f\nversion: 1.0.0\ndependencies: [{name: c, version: 1.0.0, repository: 'file://../c'}]\n",
				"charts/g/Chart.yaml": "apiVersion: v2\nname: g\nversion: 1.0.0\nkubeVersion: '>=1.98'\n", "charts/g/templates/x.yaml": configMap("m", "x: '{{ .Capabilities.KubeVersion.Version }}'"),
			}))
			if c.want[0] == 'A' {
				g.Expect(unseen(cluster)).To(Equal([]string{c.want}))
				return
			}
			g.Expect(unseen(cluster)).To(BeEmpty())
			g.Expect(brought(cluster)).To(Equal(c.want))
		})
	}
}

func TestAHelmReleaseOfAChartInTheRepositoryIsRendered(t *testing.T) {
	const chart = "chart: {spec: {chart: ./charts/c, sourceRef: {kind: GitRepository, name: flux-system}}}"
	const created = ", upgrade: {crds: CreateReplace}"
	secret := base64.StdEncoding.EncodeToString([]byte("x: secret"))
	for name, c := range map[string]struct{ spec, want string }{
		"its own values":             {chart, "own too flux-system/h"},
		"values":                     {chart + ", values: {x: mine}", "mine too flux-system/h"},
		"valuesFrom, then values":    {chart + ", valuesFrom: [{kind: ConfigMap, name: v}, {kind: Secret, name: s}], values: {w: mine}", "secret mine flux-system/h"},
		"another key, and a path":    {chart + ", valuesFrom: [{kind: ConfigMap, name: v, valuesKey: one, targetPath: w}]", "own single flux-system/h"},
		"one that Kustomize makes":   {chart + ", valuesFrom: [{kind: ConfigMap, name: generated}]", "made too flux-system/h"},
		"valuesFiles":                {"chart: {spec: {chart: ./charts/c, valuesFiles: [./charts/c/values.yaml, ./env/prod.yaml], sourceRef: {kind: GitRepository, name: flux-system}}}", "env too flux-system/h"},
		"releaseName":                {chart + ", releaseName: r, targetNamespace: n", "own too n/r"},
		"targetNamespace":            {chart + ", targetNamespace: n", "own too n/n-h"},
		"CRDs among the templates":   {chart + ", values: {crds: true}", "own too flux-system/h y"},
		"crds: CreateReplace":        {chart + created, "own too flux-system/h x"},
		"crds: Create, as installed": {chart + ", install: {crds: CreateReplace}, upgrade: {crds: Create}", "own too flux-system/h"},
		"crds: Skip":                 {chart + ", upgrade: {crds: Skip}", "own too flux-system/h"},
		"postRenderers":              {chart + ", postRenderers: [{kustomize: {patches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"replace\", \"path\": \"/data/x\", \"value\": \"patched\"}]'}]}}]", "patched too flux-system/h"},
		"a HelmChart":                {"chartRef: {kind: HelmChart, name: hc}", "own too flux-system/h"},
		"a Secret elsewhere":         {chart + ", valuesFrom: [{kind: Secret, name: none}]", "-; Secret none, which holds some of its values, is not in this repository"},
		"an encrypted Secret":        {chart + ", valuesFrom: [{kind: Secret, name: sops}]", "-; Secret sops, which holds some of its values, is encrypted"},
		"a key that is not there":    {chart + ", valuesFrom: [{kind: ConfigMap, name: v, valuesKey: none}]", "-; ConfigMap v has no none, which holds some of its values"},
		"another cluster":            {chart + ", kubeConfig: {secretRef: {name: x}}", "-; it is applied to another cluster (spec.kubeConfig)"},
		"a post-renderer that fails": {chart + ", postRenderers: [{kustomize: {patches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"remove\", \"path\": \"/data/none\"}]'}]}}]", "-; the post-renderer fails: "},
		"values that are required":   {strings.ReplaceAll(chart, "charts/c", "charts/strict"), "-; execution error at (strict/templates/x.yaml:1:3): give it a name"},
		"no chart there":             {strings.ReplaceAll(chart, "charts/c", "charts/none"), "-; there is no chart ./charts/none in this repository"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, with(inGit, files{
				"entry/apps.yaml":         flux("apps", "path: ./apps"),
				"entry/r.yaml":            source("GitRepository", "flux-system", "url: 'https://git/ours'"),
				"apps/kustomization.yaml": "resources: [h.yaml, v.yaml]\nnamespace: flux-system\nconfigMapGenerator: [{name: generated, literals: ['values.yaml=x: made']}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
				"apps/h.yaml":             helm(c.spec),
				"apps/v.yaml": inNamespace("ConfigMap", "v", "data: {values.yaml: 'x: map', one: single}") + inNamespace("Secret", "s", "data: {values.yaml: "+secret+"}") +
					inNamespace("Secret", "sops", "data: {values.yaml: ENC}\nsops: {version: 3}") +
					source("HelmChart", "hc", "chart: ./charts/c, sourceRef: {kind: GitRepository, name: flux-system}"),
				"charts/strict/Chart.yaml":       "apiVersion: v2\nname: strict\nversion: 1.0.0\n",
				"charts/strict/templates/x.yaml": `{{ required "give it a name" .Values.name }}`,
			}))
			if reason, is := strings.CutPrefix(c.want, "-"); is {
				g.Expect(unseen(cluster)).To(ConsistOf(ContainSubstring(reason)))
				return
			}
			g.Expect(unseen(cluster)).To(BeEmpty())
			g.Expect(brought(cluster)).To(Equal(c.want))
			unit := cluster.Unit("HelmRelease flux-system/h")
			g.Expect(unit.Tool).To(Equal(delivery.Helm))
			g.Expect(unit.Charts).To(Equal([]string{"c 1.0.0"}))
		})
	}
}

// Whatever the order of the units, a HelmRelease gets its values.
func TestAHelmReleaseWaitsForItsValues(t *testing.T) {
	g := NewWithT(t)
	cluster := followed(t, with(inGit, files{
		"entry/a.yaml":  flux("a", "path: ./a") + flux("b", "path: ./b, postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}") + flux("z", "path: ./z"),
		"a/h.yaml":      helm("chart: {spec: {chart: charts/c, sourceRef: {kind: GitRepository, name: flux-system}}}, valuesFrom: [{kind: ConfigMap, name: v}]"),
		"b/values.yaml": inNamespace("ConfigMap", "v", "data: {values.yaml: 'x: ${late}'}"),
		"z/vars.yaml":   inNamespace("ConfigMap", "vars", "data: {late: late}"),
	}))
	g.Expect(brought(cluster)).To(Equal("late too flux-system/h"))
}

// What a chart makes is followed: charts of Applications are an app of apps.
func TestWhatAChartBringsIsFollowed(t *testing.T) {
	g := NewWithT(t)
	cluster := followed(t, with(inGit, files{
		"entry/a.yaml":                 app("a", "source: {path: charts/apps, helm: {valuesObject: {names: [one, two]}}}, destination: {namespace: argocd}"),
		"charts/apps/Chart.yaml":       "apiVersion: v2\nname: apps\nversion: 1.0.0\n",
		"charts/apps/templates/x.yaml": "{{ range .Values.names }}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: {{ . }}}\nspec: {source: {path: apps/{{ . }}}}\n{{ end }}",
		"apps/one/x.yaml":              crd("one"), "apps/two/x.yaml": crd("two"),
	}))
	g.Expect(brought(cluster)).To(Equal("one two"))
	g.Expect(cluster.CRD("one").Place().String()).To(Equal("apps/one/x.yaml:1"))
	g.Expect(cluster.Unit("argocd/one").By.Place("spec").String()).To(Equal("charts/apps/templates/x.yaml"))
}

// A chart's manifests in crds/ are not deleted by Helm, those of its templates are.
func TestHelmKeepsTheCRDsBesideTheTemplates(t *testing.T) {
	g := NewWithT(t)
	cluster := followed(t, with(inGit, files{"entry/h.yaml": helm("chart: {spec: {chart: charts/c, sourceRef: {kind: GitRepository, name: flux-system}}}, values: {crds: true}, upgrade: {crds: CreateReplace}")}))
	unit := cluster.Unit("HelmRelease flux-system/h")
	g.Expect(unit.CRDs()).To(HaveLen(2))
	g.Expect(unit.Kept).To(HaveLen(1))
	g.Expect(unit.Kept[0].GetName()).To(Equal("x"))
	g.Expect(unit.Kept[0].Place("spec").String()).To(Equal("charts/c/crds/x.yaml:4"))
}
