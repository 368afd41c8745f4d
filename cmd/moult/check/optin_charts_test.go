package check

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// What a template makes is a CRD like those of other files, and is not passed over where others are well.
func TestCheckOptInRendersCharts(t *testing.T) {
	const chart = "apiVersion: v2\nname: c\nversion: 0.1.0\n"
	crd := func(name, label string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + name + "s.example.com\n" + label +
			"spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: " + strings.ToUpper(name) + ", plural: " + name + "s}\n  versions:\n" +
			"  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n"
	}
	const label = "  labels: {moult.dev/migrate: \"true\"}\n"
	for name, c := range map[string]struct {
		files map[string]string
		code  int
		says  string
	}{
		"a template without the label": {map[string]string{"c/templates/b.yaml": "{{ if true }}\n" + crd("b", "") + "{{ end }}\n"}, cli.ExitNotDone, "NotLabelled  c/templates/b.yaml"},
		"a template with the label":    {map[string]string{"c/templates/b.yaml": "{{ if true }}\n" + crd("b", label) + "{{ end }}\n"}, cli.ExitDone, "2 CRDs: 2 opted in"},
		"a switch that is off":         {map[string]string{"c/values.yaml": "crds: {enabled: false}\n", "c/templates/b.yaml": "{{ if .Values.crds.enabled }}\n" + crd("b", "") + "{{ end }}\n"}, cli.ExitNotDone, "NotLabelled"},
		"a file that is no template":   {map[string]string{"c/templates/b.yaml": crd("b", label)}, cli.ExitDone, "2 CRDs: 2 opted in"},
		"a chart below":                {map[string]string{"c/charts/d/Chart.yaml": strings.Replace(chart, "name: c", "name: d", 1), "c/charts/d/templates/b.yaml": "{{ if true }}\n" + crd("b", label) + "{{ end }}\n"}, cli.ExitDone, "2 CRDs: 2 opted in"},
		"a chart that is broken":       {map[string]string{"c/templates/b.yaml": "{{ if }}\n" + crd("b", label) + "{{ end }}\n"}, cli.ExitError, "the chart c has CRDs in its templates, and cannot be rendered"},
		"a broken chart of others":     {map[string]string{"c/templates/b.yaml": "{{ if }}\nkind: ConfigMap\n{{ end }}\n"}, cli.ExitDone, "1 CRD: 1 opted in"},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["c/Chart.yaml"], c.files["crds/a.yaml"] = chart, crd("a", label)
			g := clitest.InRepository(t, c.files)
			out, errOut, code := checkOptIn(t, "", ".")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(out + errOut).To(ContainSubstring(c.says))
		})
	}
}

// A kustomization may take in a chart, as Argo CD builds it.
func TestAKustomizationWithAChartIsBuilt(t *testing.T) {
	const kustomization = "helmCharts: [{name: c, valuesInline: {enabled: true}}]\n"
	files := map[string]string{
		"k/charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
		"k/charts/c/templates/b.yaml": "{{ if .Values.enabled }}\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: bs.example.com}\n" +
			"spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: B, plural: bs}\n  versions:\n" +
			"  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n{{ end }}\n",
		"k/kustomization.yaml": kustomization,
		"app.yaml":             "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec: {source: {repoURL: https://git.example.com/r.git, path: k, targetRevision: main}}\n",
	}
	for _, path := range []string{"k", "app.yaml", "."} {
		g := clitest.InRepository(t, files)
		out, errOut, code := checkOptIn(t, "", path)
		g.Expect(code).To(Equal(cli.ExitNotDone), out+errOut)
		g.Expect(out).To(ContainSubstring("NotLabelled"))
		g.Expect(out).To(ContainSubstring("1 CRD: 0 opted in"))
	}
	files["k/kustomization.yaml"] = "resources: [c.yaml]\nhelmCharts: [{name: c}]\n"
	files["k/c.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	g := clitest.InRepository(t, files)
	_, errOut, code := checkOptIn(t, "", "k")
	g.Expect(code).To(Equal(cli.ExitError))
	g.Expect(errOut).To(ContainSubstring("there is no CustomResourceDefinition to check"), "a chart that makes nothing breaks no build")

	files["k/kustomization.yaml"] = kustomization + "patches: [{target: {kind: CustomResourceDefinition}, patch: '{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: any, labels: {moult.dev/migrate: \"true\"}}}'}]\n"
	g = clitest.InRepository(t, files)
	out, errOut, code := checkOptIn(t, "", ".")
	g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
	g.Expect(out).To(ContainSubstring("1 CRD: 1 opted in"))
}
