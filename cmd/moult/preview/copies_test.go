package preview

import (
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// keptWidgets is the CRD that Helm does not delete.
var keptWidgets = strings.Replace(widgetsCRD, "metadata: {", "metadata: {annotations: {helm.sh/resource-policy: keep}, ", 1)

// ifCRDs is a template that makes the CRD if the values ask for it.
func ifCRDs(crd string) string { return "{{- if .Values.crds }}\n" + crd + "{{- end }}\n" }

// A copy of a CRD that stays is no comfort for those who get another one.
func TestACopyThatLeavesIsTold(t *testing.T) {
	const (
		chart, values      = "charts/w/Chart.yaml", "charts/w/values.yaml"
		template, inFolder = "charts/w/templates/w.yaml", "config/crd/w.yaml"
		helmGoes           = "the templates of the chart charts/w make the CRD no longer, so Helm deletes it with all its objects when a release is upgraded"
		chartGoes          = "the chart charts/w no longer has the CRD"
		metadata           = "apiVersion: v2\nname: w\nversion: 1.0.0\n"
		dependent          = metadata + "dependencies: [{name: s, version: 1.0.0, condition: s.enabled}]\n"
	)
	named := func(name string) string { return strings.Replace(metadata, "name: w", "name: "+name, 1) }
	type files = map[string]string
	acknowledged := "acknowledge: [{what: widgets.example.com, why: nobody installs it, until: " + time.Now().AddDate(0, 1, 0).Format(time.DateOnly) + "}]"
	// withChart has a chart, and the CRD in a folder.
	withChart := func(more files) files {
		all := files{chart: metadata, "charts/w/templates/cm.yaml": configMap, inFolder: widgetsCRD}
		maps.Copy(all, more)
		return all
	}
	inner := files{"charts/w/charts/s/Chart.yaml": named("s"), "charts/w/charts/s/templates/w.yaml": widgetsCRD, chart: dependent}
	withInner := func(asked string) files {
		all := maps.Clone(inner)
		all[values] = "s: {enabled: " + asked + "}\n"
		return all
	}
	old := files{"old/w/Chart.yaml": metadata, "old/w/templates/w.yaml": widgetsCRD, chart: metadata}
	for name, c := range map[string]struct {
		base, head files
		code       int
		says       string
	}{
		"a chart's template":                     {withChart(files{template: widgetsCRD}), withChart(nil), cli.ExitUnknown, helmGoes + "; another copy stays at config/crd"},
		"a chart's template with values":         {withChart(files{template: ifCRDs(widgetsCRD), values: "crds: true"}), withChart(files{values: "crds: true"}), cli.ExitUnknown, helmGoes},
		"a chart's template that values ask for": {withChart(files{template: ifCRDs(widgetsCRD), values: "crds: false"}), withChart(files{values: "crds: false"}), cli.ExitUnknown, helmGoes},
		"a chart's own values do not ask for it any more": {withChart(files{template: ifCRDs(widgetsCRD), values: "crds: true"}),
			withChart(files{template: ifCRDs(widgetsCRD), values: "crds: false"}), cli.ExitUnknown, "the chart charts/w no longer makes the CRD of its own values"},
		"a chart's own values ask for it now": {withChart(files{template: ifCRDs(widgetsCRD), values: "crds: false"}),
			withChart(files{template: ifCRDs(widgetsCRD), values: "crds: true"}), cli.ExitDone, "no CRD changes"},
		"it is kept by Helm": {withChart(files{template: keptWidgets}), withChart(nil), cli.ExitDone, chartGoes},
		"it moves to crds/":  {files{chart: metadata, template: widgetsCRD}, files{chart: metadata, "charts/w/crds/w.yaml": widgetsCRD}, cli.ExitUnknown, helmGoes + "; another copy stays at charts/w/crds"},
		"it moves to another chart": {files{chart: metadata, template: widgetsCRD},
			files{chart: metadata, "charts/crds/Chart.yaml": named("crds"), "charts/crds/templates/w.yaml": widgetsCRD}, cli.ExitUnknown, helmGoes},
		"another chart of that name has it": {files{chart: metadata, template: widgetsCRD, "old/w/Chart.yaml": metadata, "old/w/templates/w.yaml": widgetsCRD}, old, cli.ExitUnknown, helmGoes},
		"the chart moves":                   {files{chart: metadata, template: widgetsCRD}, files{"helm/w/Chart.yaml": metadata, "helm/w/templates/w.yaml": widgetsCRD}, cli.ExitDone, "no CRD changes"},
		"a chart with crds/ moves, and a copy stays": {withChart(files{"charts/w/crds/w.yaml": widgetsCRD}),
			files{"helm/w/Chart.yaml": metadata, "helm/w/crds/w.yaml": widgetsCRD, inFolder: widgetsCRD}, cli.ExitDone, "no CRD changes"},
		"it moves to a chart in the chart":     {files{chart: metadata, template: widgetsCRD}, inner, cli.ExitDone, "no CRD changes"},
		"a chart in the chart is switched off": {withInner("true"), withInner("false"), cli.ExitUnknown, helmGoes},
		".helmignore leaves out a template": {files{chart: metadata, template: widgetsCRD}, files{chart: metadata, template: widgetsCRD, "charts/w/.helmignore": "w.yaml\n"},
			cli.ExitUnknown, helmGoes + "; another copy stays at charts/w/templates"},
		".helmignore leaves out crds/": {withChart(files{"charts/w/crds/w.yaml": widgetsCRD}),
			withChart(files{"charts/w/crds/w.yaml": widgetsCRD, "charts/w/.helmignore": "crds/\n"}), cli.ExitDone, chartGoes},
		"it leaves crds/": {withChart(files{"charts/w/crds/w.yaml": widgetsCRD}), withChart(nil), cli.ExitDone, chartGoes},
		"it leaves a folder": {files{inFolder: widgetsCRD, "deploy/w.yaml": widgetsCRD}, files{"deploy/w.yaml": widgetsCRD},
			cli.ExitDone, "config/crd no longer has the CRD, and another copy stays at deploy"},
		"a copy with a version more leaves a folder": {files{inFolder: widgetsCRD, "deploy/w.yaml": without}, files{"deploy/w.yaml": without}, cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
		"the bundle of a release leaves": {files{"bundle/0.1.0/w.yaml": widgetsCRD, "bundle/0.2.0/w.yaml": without}, files{"bundle/0.2.0/w.yaml": without},
			cli.ExitDone, "bundle/0.1.0 no longer has the CRD, and another copy stays at bundle/0.2.0"},
		"an example leaves":               {files{inFolder: widgetsCRD, "docs/w.yaml": widgetsCRD}, files{inFolder: widgetsCRD}, cli.ExitDone, "no CRD changes WHAT TO DO NEXT Nothing stands in the way"},
		"one of two files of a folder":    {files{inFolder: widgetsCRD, "config/crd/x.yaml": widgetsCRD}, files{inFolder: widgetsCRD}, cli.ExitDone, "no CRD changes WHAT TO DO NEXT Nothing stands in the way"},
		"a chart that cannot be rendered": {withChart(files{chart: umbrella, template: widgetsCRD}), withChart(files{chart: umbrella}), cli.ExitUnknown, helmGoes},
		"a person has acknowledged it": {withChart(files{template: widgetsCRD, ".moult.yaml": acknowledged}), withChart(files{".moult.yaml": acknowledged}),
			cli.ExitDone, "acknowledged: nobody installs it"},
	} {
		t.Run(name, func(t *testing.T) {
			all := files{}
			for side, some := range map[string]files{"base/": c.base, "head/": c.head} {
				for file, content := range some {
					all[side+file] = content
				}
			}
			g := clitest.InRepository(t, all)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head")
			g.Expect(strings.Join(strings.Fields(out+errOut), " ")).To(ContainSubstring(c.says))
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}
