package desired_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/test/charttest"
)

// A kustomization that Argo CD builds may take in charts, with --enable-helm.
func TestTheChartsOfAKustomizationAreRendered(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	chart := func(version string) charttest.Chart {
		return charttest.Of("c", version, map[string]string{
			"values.yaml": "x: own\nw: too\n", "crds/x.yaml": crd("x-" + version), "templates/crds.yaml": "{{ if .Values.crds }}" + crd("y") + "{{ end }}",
			"templates/m.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {x: {{ .Values.x | quote }}, w: {{ .Values.w | quote }}, z: {{ printf \"%s/%s\" .Release.Namespace .Release.Name }}}\n",
		})
	}
	versions := map[string]charttest.Chart{"1.0.0": chart("1.0.0"), "2.0.0": chart("2.0.0")}
	http := "repo: " + charttest.Repository(t, "c", versions, nil).URL + "/charts"
	oci := "repo: oci" + strings.TrimPrefix(charttest.Registry(t, "c", versions, nil).URL, "http") + "/charts"
	for name, c := range map[string]struct{ helm, want string }{
		"over HTTP":                       {"{name: c, version: 1.0.0, " + http + ", includeCRDs: true}", "own too default/release-name x-1.0.0"},
		"another version":                 {"{name: c, version: 2.0.0, " + http + ", includeCRDs: true}", "own too default/release-name x-2.0.0"},
		"over OCI":                        {"{name: c, version: 1.0.0, " + oci + ", releaseName: r, namespace: there}", "own too there/r"},
		"a file of values":                {"{name: c, version: 1.0.0, " + http + ", valuesFile: v.yaml}", "file too default/release-name"},
		"values over these":               {"{name: c, version: 1.0.0, " + http + ", valuesFile: v.yaml, valuesInline: {x: inline, crds: true}}", "inline too default/release-name y"},
		"values below these":              {"{name: c, version: 1.0.0, " + http + ", valuesFile: v.yaml, valuesInline: {x: inline, w: w}, valuesMerge: merge}", "file w default/release-name"},
		"values in place of these":        {"{name: c, version: 1.0.0, " + http + ", valuesFile: v.yaml, valuesInline: {w: w}, valuesMerge: replace}", "own w default/release-name"},
		"more files over all":             {"{name: c, version: 1.0.0, " + http + ", valuesInline: {x: inline}, additionalValuesFiles: [v.yaml]}", "file too default/release-name"},
		"a chart in the folder":           {"{name: held, includeCRDs: true}", "own too default/release-name x"},
		"one that nobody has":             {"{name: c, version: 9.0.0, " + http + "}", "its chart c: the chart c 9.0.0 of"},
		"one without a repository":        {"{name: c, version: 9.0.0}", "there is no chart at apps/charts/c"},
		"a file of values from elsewhere": {"{name: c, version: 1.0.0, " + http + ", valuesFile: ../../../../../../etc/hostname}", "there is no file of values"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			repository := files{
				"entry/a.yaml": app("a", "source: {path: apps}"), "apps/kustomization.yaml": "resources: [n.yaml]\nnameSuffix: \"\"\nhelmCharts: [" + c.helm + "]\n",
				"apps/n.yaml": configMap("n"), "apps/v.yaml": "x: file\n",
			}
			for path, content := range inGit {
				if path, found := strings.CutPrefix(path, "charts/c/"); found {
					repository["apps/charts/held/"+path] = strings.Replace(content, "name: c\n", "name: held\n", 1)
				}
			}
			cluster, err := desired.Follow(t.Context(), opened(t, repository), "entry", desired.Options{Charts: store.New(store.Options{Fetch: true})})
			g.Expect(err).NotTo(HaveOccurred())
			for _, unit := range cluster.Units {
				g.Expect(unit.Err).NotTo(HaveOccurred())
			}
			if len(cluster.Unseen) > 0 {
				g.Expect(cluster.Unseen[0].Why).To(ContainSubstring(c.want))
				return
			}
			g.Expect(brought(cluster)).To(Equal(c.want))
			for _, object := range cluster.Objects() {
				if object.GetName() == "m" {
					g.Expect(object.Place().File).To(Equal("apps/kustomization.yaml"))
				}
			}
		})
	}
}

// Flux builds no charts of kustomizations.
func TestFluxRendersNoChartsOfAKustomization(t *testing.T) {
	g := NewWithT(t)
	cluster, err := desired.Follow(t.Context(), opened(t, files{
		"entry/a.yaml": flux("a", "path: apps"), "apps/kustomization.yaml": "helmCharts: [{name: c, version: 1.0.0, repo: 'https://charts.example.com'}]\n",
	}), "entry", desired.Options{Charts: store.New(store.Options{})})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.Unseen).To(ConsistOf(HaveField("Why", "it takes Helm to build it")))
}
