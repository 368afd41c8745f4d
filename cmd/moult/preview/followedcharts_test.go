package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// A chart of Applications takes the name of its environment from elsewhere, and what it is of is followed for each.
func TestAnApplicationInATemplateYieldsToItsChart(t *testing.T) {
	const application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\n" +
		"spec:\n  source:\n    path: charts/apps\n    helm:\n      valueFiles: ['values-{{ .Values.env }}.yaml']\n"
	const more = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: more, namespace: argocd}\nspec: {source: {path: more}}\n"
	charts := map[string]string{
		"charts/bootstrap/Chart.yaml": "apiVersion: v2\nname: bootstrap\nversion: 1.0.0\n", "charts/bootstrap/templates/apps.yaml": application,
		"charts/apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 1.0.0\n", "charts/apps/templates/more.yaml": more,
		"charts/apps/values-production.yaml": "env: production\n", "charts/apps/tags/production": "1.0.0\n", "more/m.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
	}
	changed := map[string]string{"charts/apps/tags/production": "2.0.0\n"}
	valueFiles := func(file string) string {
		return strings.Replace(application, "values-{{ .Values.env }}.yaml", file, 1)
	}
	for name, c := range map[string]struct {
		both, head map[string]string
		code       int
	}{
		"a file of the chart":           {nil, changed, cli.ExitDone},
		"and the Application":           {nil, and(changed, map[string]string{"charts/bootstrap/templates/apps.yaml": application + "    targetRevision: next\n"}), cli.ExitUnknown},
		"what the chart makes":          {nil, map[string]string{"charts/apps/templates/more.yaml": more + "---\n" + release("1.0.0")}, cli.ExitUnknown},
		"values of another folder":      {map[string]string{"charts/bootstrap/templates/apps.yaml": valueFiles("/tags/{{ .Values.env }}.yaml"), "tags/values-a.yaml": "a: b\n"}, map[string]string{"charts/apps/tags/production": "2.0.0\n"}, cli.ExitUnknown},
		"values of a folder in it":      {map[string]string{"charts/bootstrap/templates/apps.yaml": valueFiles("tags/{{ .Values.env }}.yaml")}, changed, cli.ExitUnknown},
		"values of another name":        {map[string]string{"charts/bootstrap/templates/apps.yaml": valueFiles("{{ .Values.env }}.yaml")}, changed, cli.ExitUnknown},
		"several files of values":       {map[string]string{"charts/bootstrap/templates/apps.yaml": valueFiles("values-a.yaml', 'values-{{ .Values.env }}.yaml")}, changed, cli.ExitUnknown},
		"and the chart's own":           {map[string]string{"charts/bootstrap/templates/apps.yaml": valueFiles("values.yaml', 'values-{{ .Values.env }}.yaml")}, changed, cli.ExitDone},
		"a file for a value":            {map[string]string{"charts/bootstrap/templates/apps.yaml": application + "      fileParameters: [{name: x, path: tags/production}]\n"}, changed, cli.ExitUnknown},
		"a pattern of values":           {map[string]string{"charts/bootstrap/templates/apps.yaml": valueFiles("values-*.yaml")}, changed, cli.ExitUnknown},
		"an override":                   {map[string]string{"charts/apps/.argocd-source.yaml": "helm: {}\n"}, changed, cli.ExitUnknown},
		"no values beside the chart":    {map[string]string{"charts/apps/values-production.yaml": ""}, changed, cli.ExitUnknown},
		"a chart that is not followed":  {map[string]string{"charts/apps/templates/more.yaml": ""}, changed, cli.ExitUnknown},
		"an Application in no template": {map[string]string{"charts/bootstrap/Chart.yaml": ""}, changed, cli.ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for side, its := range map[string]map[string]string{"base": nil, "head": c.head} {
				for file, content := range and(and(charts, c.both), its) {
					if content != "" {
						files[side+"/"+file] = content
					}
				}
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}

// and are files, some of them as others have it.
func and(all, others map[string]string) map[string]string {
	all = maps.Clone(all)
	maps.Copy(all, others)
	return all
}
