package preview

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// setFor is an ApplicationSet, by its generators and by the source of its Applications.
func setFor(generators, source string, more ...string) string {
	name, server, spec := "'it-{{name}}'", "'{{server}}'", ""
	for _, one := range more {
		spec, name, server = one, "'it-{{ .name }}'", "'{{ .server }}'"
	}
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: it, namespace: argocd}\nspec:\n" + spec + "  generators: [" + generators + "]\n" +
		"  template:\n    metadata: {name: " + name + "}\n    spec: {project: default, source: {repoURL: 'https://git.example.com/it', " + source + "}, destination: {server: " + server + ", namespace: it}}\n"
}

// Without the Secrets of the clusters, one cluster stands in for all: the answer has to hold for each, whatever it is called.
func TestAClusterStandsInForThoseThatAreNotKnown(t *testing.T) {
	const (
		any, folder, labelled = "{clusters: {}}", "targetRevision: HEAD, path: 'o/{{name}}'", "targetRevision: HEAD, path: 'o/{{metadata.labels.env}}'"
		isGo                  = "  goTemplate: true\n"
		withValues            = "targetRevision: HEAD, path: chart, helm: {valueFiles: ['/values/{{name}}.yaml']}"
		orNone                = "targetRevision: HEAD, path: chart, helm: {ignoreMissingValueFiles: true, valueFiles: ['/values/{{name}}.yaml']}"
		leaves, isOpen        = "v1alpha1 of widgets.example.com", "name their Secrets with --cluster-secrets"
		child                 = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: crds, namespace: argocd}\nspec: {project: default, source: {repoURL: 'https://git.example.com/it', targetRevision: HEAD, path: 'd/"
	)
	o := files{"o/one/w.yaml": widgetsCRD, "o/two/w.yaml": widgetsCRD}
	chart := files{"chart/Chart.yaml": chartC, "chart/values.yaml": "old: true\n", "chart/templates/w.yaml": ifOld, "values/one.yaml": "old: true\n", "values/two.yaml": "old: true\n"}
	children := files{"o/one/a.yaml": child + "one'}}\n", "o/two/a.yaml": child + "two'}}\n", "d/one/w.yaml": widgetsCRD, "d/two/w.yaml": widgetsCRD}
	for name, c := range map[string]struct {
		set, other string // before, and after if that differs
		has, gets  files
		code       int
		says       string
	}{
		"a folder that no path leads to":          {set: setFor(any, folder), has: o, gets: files{"p/w.yaml": widgetsCRD}, says: "no CRD changes"},
		"another folder changes":                  {set: setFor(any, folder), has: o, gets: files{"o/two/x.yaml": configMap}, says: "no CRD changes"},
		"a CRD in one of the folders":             {set: setFor(any, folder), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"a CRD by a label":                        {set: setFor(any, labelled), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"a selector is not decided":               {set: setFor("{clusters: {selector: {matchLabels: {env: prod}}}}", folder), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"a selector changes":                      {set: setFor(any, folder), other: setFor("{clusters: {selector: {matchLabels: {env: prod}}}}", folder), has: o, code: cli.ExitUnknown, says: "which clusters ApplicationSet argocd/it selects changes"},
		"values of the generator":                 {set: setFor("{clusters: {values: {at: two}}}", "path: 'o/{{values.at}}'"), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"values of the generator, elsewhere":      {set: setFor("{clusters: {values: {at: two}}}", "path: 'o/{{values.at}}'"), has: o, gets: files{"o/one/w.yaml": without}, says: "no CRD changes"},
		"values that are a label":                 {set: setFor("{clusters: {values: {at: '{{metadata.labels.env}}'}}}", "path: 'o/{{values.at}}'"), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"values that are a label, in Go":          {set: setFor("{clusters: {values: {at: '{{ .metadata.labels.env }}'}}}", "path: 'o/{{ .values.at }}'", isGo), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"values change":                           {set: setFor("{clusters: {values: {at: one}}}", "path: 'o/{{values.at}}'"), other: setFor("{clusters: {values: {at: two}}}", "path: 'o/{{values.at}}'"), has: o, code: cli.ExitUnknown, says: "which clusters ApplicationSet argocd/it selects changes"},
		"a matrix of folders and clusters":        {set: setFor("{matrix: {generators: [{git: {directories: [{path: o/*}]}}, {clusters: {}}]}}", "path: '{{path}}'"), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"a matrix, and another folder":            {set: setFor("{matrix: {generators: [{git: {directories: [{path: o/*}]}}, {clusters: {}}]}}", "path: '{{path}}'"), has: o, gets: files{"p/w.yaml": without}, says: "no CRD changes"},
		"a matrix of clusters and their folders":  {set: setFor("{matrix: {generators: [{clusters: {}}, {git: {directories: [{path: 'o/{{name}}'}]}}]}}", "path: '{{path}}'"), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: isOpen},
		"a list that has the names of some":       {set: setFor("{merge: {mergeKeys: [name], generators: [{clusters: {values: {at: one}}}, {list: {elements: [{name: b, values.at: two}]}}]}}", "path: 'o/{{values.at}}'"), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"those that the list has no name of":      {set: setFor("{merge: {mergeKeys: [name], generators: [{clusters: {values: {at: one}}}, {list: {elements: [{name: b, values.at: two}]}}]}}", "path: 'o/{{values.at}}'"), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"a list with the same name":               {set: setFor("{matrix: {generators: [{clusters: {}}, {list: {elements: [{name: one}]}}]}}", folder), has: o, gets: files{"o/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"a condition in Go":                       {set: setFor(any, "path: 'o/{{ if eq .metadata.labels.env \"prod\" }}one{{ else }}two{{ end }}'", isGo), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: isOpen},
		"a function in Go":                        {set: setFor(any, "path: 'o/{{ dig \"metadata\" \"labels\" \"env\" \"two\" . }}'", isGo), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: isOpen},
		"a patch of the template":                 {set: setFor(any, "path: o/two", isGo+"  templatePatch: '{spec: {source: {path: \"o/{{ .metadata.labels.env }}\"}}}'\n"), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: isOpen},
		"the revision":                            {set: setFor(any, "path: o/one, targetRevision: '{{metadata.labels.at}}'"), has: o, gets: files{"o/one/w.yaml": without}, code: cli.ExitUnknown, says: "the targetRevision of a source depends on it"},
		"a parameter of a chart":                  {set: setFor(any, "path: chart, helm: {parameters: [{name: old, value: '{{metadata.labels.old}}'}]}"), has: chart, gets: files{"chart/templates/w.yaml": ifOld + "#\n"}, code: cli.ExitUnknown, says: "the helm of a source depends on it"},
		"a file of values":                        {set: setFor(any, withValues), has: chart, gets: files{"values/two.yaml": "old: false\n"}, code: cli.ExitUnknown, says: leaves},
		"a file of values of a chart's folder":    {set: setFor(any, "path: chart, helm: {valueFiles: ['../values/{{name}}.yaml']}"), has: chart, gets: files{"values/two.yaml": "old: false\n"}, code: cli.ExitUnknown, says: leaves},
		"a file of values says something else":    {set: setFor(any, withValues), has: chart, gets: files{"values/two.yaml": "old: true\nmore: 1\n"}, says: "no CRD changes"},
		"no file of values":                       {set: setFor(any, orNone), has: chart, gets: files{"chart/values.yaml": "old: false\n"}, code: cli.ExitUnknown, says: leaves},
		"a file of values that is new":            {set: setFor(any, orNone), has: chart, gets: files{"values/new.yaml": "old: false\n"}, code: cli.ExitUnknown, says: "which files of values"},
		"an Application of the same name in each": {set: setFor(any, folder), has: children, gets: files{"d/two/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"an Application that has its name":        {set: setFor(any, folder), has: children, gets: files{"d/one/w.yaml": without}, code: cli.ExitUnknown, says: leaves},
		"the CRD stays in another folder":         {set: setFor(any, folder), has: files{"o/one/w.yaml": widgetsCRD, "o/one/x.yaml": configMap, "o/two/w.yaml": widgetsCRD}, gets: files{"o/one/w.yaml": configMap}, code: cli.ExitUnknown, says: "the CRD is no longer in Git"},
	} {
		t.Run(name, func(t *testing.T) {
			f, after := files{}, maps.Clone(c.has)
			maps.Copy(after, c.gets)
			for file, content := range c.has {
				f["base/"+file] = content
			}
			for file, content := range after {
				f["head/"+file] = content
			}
			f["base/apps/s.yaml"], f["head/apps/s.yaml"] = c.set, c.set
			if c.other != "" {
				f["head/apps/s.yaml"] = c.other
			}
			g := clitest.InRepository(t, f)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "apps", "--offline")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(out + errOut).To(ContainSubstring(c.says))
		})
	}
}
