package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// aRelease is a HelmRelease of the chart ./charts/widgets, with more of its spec.
func aRelease(more string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: widgets, namespace: flux-system}\n" +
		"spec:\n  chart: {spec: {chart: ./charts/widgets, sourceRef: {kind: GitRepository, name: flux-system}}}\n" + more
}

const widgetsChart = "apiVersion: v2\nname: widgets\nversion: 1.0.0\n"

// What a chart does to a CRD is seen in its rendering: before and after, with the values of each side.
func TestAChartsCRDsAreCompared(t *testing.T) {
	guarded := "{{ if .Values.old }}" + widgetsCRD + "{{ else }}" + without + "{{ end }}"
	kept := strings.Replace(widgetsCRD, "{name: widgets.example.com}", "{name: widgets.example.com, annotations: {helm.sh/resource-policy: keep}}", 1)
	for name, c := range map[string]struct {
		base, head map[string]string
		code       int
		says       string
	}{
		"another value of a chart that stays":   {map[string]string{"templates/crd.yaml": guarded, "values.yaml": "old: true"}, map[string]string{"templates/crd.yaml": guarded, "values.yaml": "old: false"}, cli.ExitUnknown, "v1alpha1"},
		"a value that is about something else":  {map[string]string{"templates/crd.yaml": guarded, "values.yaml": "old: true"}, map[string]string{"templates/crd.yaml": guarded, "values.yaml": "old: true\nreplicas: 3"}, cli.ExitDone, ""},
		"a version that leaves the template":    {map[string]string{"templates/crd.yaml": widgetsCRD}, map[string]string{"templates/crd.yaml": without}, cli.ExitUnknown, "v1alpha1"},
		"one that is not opted in":              {map[string]string{"templates/crd.yaml": without}, map[string]string{"templates/crd.yaml": widgetsCRD}, cli.ExitDone, "prints a patch for spec.postRenderers of the HelmRelease"},
		"crds/ that Helm does not upgrade":      {map[string]string{"crds/crd.yaml": widgetsCRD}, map[string]string{"crds/crd.yaml": without}, cli.ExitDone, ""},
		"a CRD that leaves the templates":       {map[string]string{"templates/crd.yaml": widgetsCRD}, map[string]string{"templates/none.yaml": ""}, cli.ExitNotDone, "Helm deletes the CRD with all its objects"},
		"one that leaves and is kept":           {map[string]string{"templates/crd.yaml": kept}, map[string]string{"templates/none.yaml": ""}, cli.ExitDone, "stays in the cluster"},
		"a chart that cannot be rendered":       {map[string]string{"templates/crd.yaml": widgetsCRD}, map[string]string{"templates/crd.yaml": widgetsCRD + `{{ required "a name" .Values.name }}`}, cli.ExitUnknown, "could be seen before this change and cannot any more"},
		"one that could not be rendered before": {map[string]string{"templates/crd.yaml": widgetsCRD + `{{ fail "no" }}`}, map[string]string{"templates/crd.yaml": widgetsCRD}, cli.ExitUnknown, "can be seen from now on"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for side, chart := range map[string]map[string]string{"base": c.base, "head": c.head} {
				files[side+"/clusters/production/release.yaml"] = aRelease("")
				files[side+"/charts/widgets/Chart.yaml"] = widgetsChart
				for file, content := range chart {
					files[side+"/charts/widgets/"+file] = content
				}
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

// With upgrade.crds, what lies in crds/ arrives, and nothing of it is ever deleted.
func TestCRDsBesideTheTemplatesAreThoseOfThePolicy(t *testing.T) {
	const replace = "  upgrade: {crds: CreateReplace}\n"
	g := clitest.InRepository(t, map[string]string{
		"base/clusters/production/release.yaml": aRelease(replace), "base/charts/widgets/Chart.yaml": widgetsChart, "base/charts/widgets/crds/crd.yaml": widgetsCRD,
		"head/clusters/production/release.yaml": aRelease(replace), "head/charts/widgets/Chart.yaml": widgetsChart, "head/charts/widgets/crds/crd.yaml": without,
		"none/clusters/production/release.yaml": aRelease(replace), "none/charts/widgets/Chart.yaml": widgetsChart,
	})
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
	g.Expect(code).To(Equal(cli.ExitUnknown), out+errOut)
	g.Expect(out).To(ContainSubstring("v1alpha1"))
	code, out, errOut = previewed(t, "--base", "base", "--head", "none", "--entry", "clusters/production")
	g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
	g.Expect(out).To(ContainSubstring("stays in the cluster"))
}

// At an installation, Helm may replace CRDs that the cluster has already.
func TestCRDsThatAnInstallationReplacesAreSeen(t *testing.T) {
	const replace = "  install: {crds: CreateReplace}\n"
	for name, c := range map[string]struct {
		more map[string]string
		code int
		says string
	}{
		"the release is new":        {nil, cli.ExitUnknown, "Helm HelmRelease flux-system/widgets Removal widgets.example.com loses v1alpha1"},
		"the release is there":      {map[string]string{"base/clusters/production/release.yaml": aRelease(replace)}, cli.ExitDone, "no CRD changes"},
		"the release is without it": {map[string]string{"head/clusters/production/release.yaml": aRelease("")}, cli.ExitDone, "no CRD changes"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"head/clusters/production/release.yaml": aRelease(replace)}
			for _, side := range []string{"base", "head"} {
				files[side+"/clusters/production/crd.yaml"] = widgetsCRD
				files[side+"/charts/widgets/Chart.yaml"], files[side+"/charts/widgets/crds/crd.yaml"] = widgetsChart, without
			}
			maps.Copy(files, c.more)
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

// Nothing says how an operator's chart is installed, so its own values count.
func TestTheTemplatesOfAChartAreRenderedWithItsOwnValues(t *testing.T) {
	const guard, end = "{{- if .Values.crds.enabled }}\n", "\n{{- end }}\n"
	named := strings.Replace(widgetsCRD, "metadata: {", `metadata: {labels: {chart: {{ .Chart.Name | quote }}}, `, 1)
	without := strings.Replace(named, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	for name, c := range map[string]struct {
		base, head map[string]string
		code       int
		says       string
	}{
		"a version leaves":                  {map[string]string{"templates/w.yaml": named}, map[string]string{"templates/w.yaml": without}, cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"something else changes":            {map[string]string{"templates/w.yaml": named}, map[string]string{"templates/w.yaml": "{{- /* new */}}\n" + named}, cli.ExitDone, "no CRD changes"},
		"the values switch CRDs off":        {map[string]string{"templates/w.yaml": guard + named + end, "values.yaml": "crds: {enabled: false}"}, map[string]string{"templates/w.yaml": guard + without + end, "values.yaml": "crds: {enabled: false}"}, cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"one more is for other values":      {map[string]string{"templates/w.yaml": named}, map[string]string{"templates/w.yaml": named + "\n---\n{{ if .Values.more }}" + strings.ReplaceAll(named, "widgets", "gadgets") + "{{ end }}"}, cli.ExitUnknown, "it is a template that declares CRDs"},
		"it takes a file in":                {map[string]string{"templates/w.yaml": `{{ tpl (.Files.Get "files/w.yaml") . }}`, "files/w.yaml": named}, map[string]string{"templates/w.yaml": `{{ tpl (.Files.Get "files/w.yaml") . }}`, "files/w.yaml": without}, cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"it takes a partial in":             {map[string]string{"templates/w.yaml": `{{ include "w" . }}`, "templates/_w.tpl": `{{ define "w" }}` + named + "{{ end }}"}, map[string]string{"templates/w.yaml": `{{ include "w" . }}`, "templates/_w.tpl": `{{ define "w" }}` + without + "{{ end }}"}, cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"it cannot be rendered and changes": {map[string]string{"templates/w.yaml": named + `{{ fail "x" }}`}, map[string]string{"templates/w.yaml": without + `{{ fail "x" }}`}, cli.ExitUnknown, "it is a template that declares CRDs"},
		"it cannot be rendered, and stays":  {map[string]string{"templates/w.yaml": named + `{{ fail "x" }}`}, map[string]string{"templates/w.yaml": named + `{{ fail "x" }}`, "README.md": "new"}, cli.ExitDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for side, chart := range map[string]map[string]string{"base": c.base, "head": c.head} {
				files[side+"/charts/widgets/Chart.yaml"] = widgetsChart
				for file, content := range chart {
					files[side+"/charts/widgets/"+file] = content
				}
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

// helm-controller uninstalls a release before it installs one of another name, and Helm deletes what was in the templates.
func TestAReleaseThatIsReplacedIsUninstalled(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		crd  string
		code int
	}{
		"the same by other words":  {"  releaseName: widgets\n  storageNamespace: flux-system\n", "templates/crd.yaml", cli.ExitDone},
		"another name":             {"  releaseName: gadgets\n", "templates/crd.yaml", cli.ExitNotDone},
		"another namespace":        {"  targetNamespace: gadgets\n", "templates/crd.yaml", cli.ExitNotDone},
		"another place of records": {"  storageNamespace: gadgets\n", "templates/crd.yaml", cli.ExitNotDone},
		"with crds/ that stay":     {"  releaseName: gadgets\n", "crds/crd.yaml", cli.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"base/clusters/production/release.yaml": aRelease(""), "base/charts/widgets/Chart.yaml": widgetsChart, "base/charts/widgets/" + c.crd: widgetsCRD,
				"head/clusters/production/release.yaml": aRelease(c.spec), "head/charts/widgets/Chart.yaml": widgetsChart, "head/charts/widgets/" + c.crd: widgetsCRD,
			})
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
			if c.code == cli.ExitNotDone {
				g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring("Flux uninstalls the one before"))
			}
		})
	}
}
