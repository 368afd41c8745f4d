package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// misleadingValues are files of values that nothing here names. A pipeline, or an Application elsewhere, installs the chart with them.
var misleadingValues = map[string]overlooked{
	"elsewhere":                  ofApps("envs/prod.yaml"),
	"in a folder of the chart":   ofApps("root/envs/prod.yaml"),
	"beside the chart's own":     ofApps("root/prod.yaml"),
	"as JSON":                    ofApps("root/prod.json"),
	"of a dependency":            ofDependency("p/values.yaml"),
	"of a dependency, beside":    ofDependency("p/values-prod.yaml"),
	"of a dependency, elsewhere": ofDependency("envs/prod/p.yaml"),
	"of variables, in a ConfigMap of no unit": bump("shared/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: flux-system}\ndata: {V: v1.0.0}\n", files{
		"clusters/a/k.yaml": fluxTo("./crds", " postBuild: {substituteFrom: [{kind: ConfigMap, name: c}]},"), "crds/w.yaml": strings.Replace(widgetsCRD, "v1alpha1", "'${V:=v1alpha1}'", 1),
	}),
	"of an app of apps, by a name that a template makes": bump("values/cm.yaml", "v: 1.0.0\n", appOfApps("chart: '{{ .name }}', repoURL: 'https://charts.invalid', targetRevision: 1.2.3, helm: {valueFiles: ['$v/values/{{ .name }}.yaml']}")),
	"of an app of apps, with a path that a template makes": bump("values/cm.yaml", "v: 1.0.0\n", also(files{
		"root/templates/a.yaml": strings.Replace(appTo("a", "'{{ .Values.path }}'", own, ", helm: {valueFiles: ['/values/cm.yaml']}"), "targetRevision: HEAD, ", "", 1), "root/values.yaml": "path: p\n",
		"p/Chart.yaml": chartC + "dependencies: [{name: cm, version: 1.2.3, repository: 'https://charts.invalid'}]\n",
	}, appOfApps(""))),
	"that come, of an app of apps": {common: also(files{"p/Chart.yaml": chartC, "p/templates/w.yaml": "{{ if not .Values.less }}\n" + widgetsCRD + "{{ end }}\n"},
		appOfApps("path: p, repoURL: 'https://git.example.com/it', helm: {ignoreMissingValueFiles: true, valueFiles: ['values-{{ .name }}.yaml']}")), head: files{"p/values-cm.yaml": "less: true\n"}},
	"of a template": {common: files{"p/Chart.yaml": chartC, "p/values.yaml": "inst: true\n", "p/templates/w.yaml": "{{ if .Values.inst }}\n" + widgetsCRD + "{{ end }}\n"}, base: files{"p/values-prod.yaml": "inst: true\n"}, head: files{"p/values-prod.yaml": "inst: false\n"}},
}

// ofApps is a file of values for an app of apps.
func ofApps(file string) overlooked {
	return bump(file, `{"apps": {"cm": {"version": "1.0.0"}}}`, files{
		"root/Chart.yaml": strings.Replace(chartC, "name: c", "name: root", 1), "root/values.yaml": "apps: {}\n",
		"root/templates/a.yaml": "{{ range $name, $app := .Values.apps }}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: '{{ $name }}', namespace: argocd}\n" +
			"spec: {project: default, source: {repoURL: 'https://charts.invalid', chart: '{{ $name }}', targetRevision: '{{ $app.version }}'}, destination: {namespace: it, name: in-cluster}}\n{{ end }}\n",
	})
}

// appOfApps is one that no Application here names, with one of a source.
func appOfApps(source string) files {
	return files{
		"root/Chart.yaml": strings.Replace(chartC, "name: c", "name: root", 1), "root/values.yaml": "apps: [{name: cm}]\n",
		"root/templates/a.yaml": "{{ range .Values.apps }}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: '{{ .name }}', namespace: argocd}\n" +
			"spec: {project: default, sources: [{" + source + "}, {ref: v, repoURL: 'https://git.example.com/it'}], destination: {namespace: it, name: in-cluster}}\n{{ end }}\n",
	}
}

// ofDependency is a file of values that switches on what a chart depends on.
func ofDependency(file string) overlooked {
	c := bump(file, "cm: {enabled: '1.0.0'}\n", files{
		"p/Chart.yaml": strings.Replace(chartC, "name: c", "name: p", 1) + "dependencies: [{name: cert-manager, alias: cm, version: 1.0.0, repository: 'https://charts.invalid', condition: cm.enabled}]\n",
	})
	return c
}

func TestValuesThatNothingNamesAreSeen(t *testing.T) {
	for name, c := range misleadingValues {
		t.Run(name, c.isSeen)
	}
}

// A chart's own values are for that chart, and a file with a key or two in common is for none.
func TestValuesOfAnotherChartAreNotTried(t *testing.T) {
	for name, c := range map[string]overlooked{
		"another chart's":                   bump("other/values.yaml", "apps: {cm: {version: 1.0.0}}\n", ofApps("x.yaml").common),
		"values of a chart for another app": bump("other/values-prod.yaml", "v: 1.0.0\n", appOfApps("path: p, repoURL: 'https://git.example.com/it'")),
		"values that no app names":          bump("values/x.yaml", "v: 1.0.0\n", appOfApps("chart: '{{ .name }}', repoURL: 'https://charts.invalid', targetRevision: 1.2.3, helm: {valueFiles: ['$v/values/{{ .name }}.yaml']}")),
		"a file of a program":               bump("compose.yaml", "apps: {cm: {version: 1.0.0}}\nservices: {}\nvolumes: {}\n", ofApps("x.yaml").common),
	} {
		t.Run(name, func(t *testing.T) {
			maps.Copy(c.common, files{"other/Chart.yaml": strings.Replace(chartC, "name: c", "name: other", 1), "other/templates/x.yaml": aConfigMap})
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}
