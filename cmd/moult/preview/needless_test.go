package preview

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// What cannot be seen is the same while only that changes which decides nothing about it. In all else, each change may decide.
func TestOfWhatIsNotSeenOnlyWhatDecidesIsAReasonToAsk(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {of: 1.0.0}\n"
		settings   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {v: 1.0.0}\n"
		asked      = "resources: {limits: {memory: 1.0.0}}"
		job        = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: j, image: x/kubectl, command: [kubectl, apply, -f, 'https://example.com/it.yaml'], envFrom: [{configMapRef: {name: NAME}}]}]}}}\n"
		remote     = "resources: ['https://example.com/it?ref=1.0.0', x.yaml]\n"
		sync       = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: s}\nspec: {}\n"
	)
	plugin := func(file, text string) overlooked {
		return bump(file, text, files{"apps/a.yaml": strings.Replace(appTo("a", "a", own, ""), "path: a", "path: a, plugin: {}", 1), "a/x": "x", "apps/b.yaml": appTo("b", "b", own, ""), "b/w.yaml": widgetsCRD})
	}
	set := func(source string) files {
		return files{"apps/s.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec: {generators: [{clusters: {}}], template: {metadata: {name: s}, spec: {" + source + "}}}\n", "b/w.yaml": widgetsCRD}
	}
	lending := func(file, text string) overlooked {
		return bump(file, text, set("sources: [{chart: c, repoURL: 'https://charts.example.com', targetRevision: 1.2.3, helm: {valueFiles: ['$v/at/{{name}}/values.yaml']}}, {ref: v, repoURL: '"+own+"'}]"))
	}
	folder := func(file, text string, more files) overlooked {
		return bump(file, text, also(more, set("source: {path: 'at/{{name}}', repoURL: '"+own+"'}")))
	}
	maker := func(spec string) overlooked {
		return bump("crds/m.yaml", "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: v, namespace: it}\nspec: {"+spec+"}\n", inFlux(files{
			"crds/h.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: h, namespace: it}\nspec: {chart: {spec: {chart: c, version: 1.2.3, sourceRef: {kind: HelmRepository, name: r}}}, valuesFrom: [{kind: Secret, name: v}]}\n",
		}))
	}
	lacking := func(file, text string, more ...files) overlooked {
		return bump(file, text, also(append(more, files{})[0], files{"apps/a.yaml": appTo("a", "a", own, ""), "a/templates/_x.tpl": "", "a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.1.0\ndependencies: [{name: d, version: 1.2.3, repository: 'https://charts.example.com'}]\n", "b/w.yaml": widgetsCRD}))
	}
	failing := func(template string) overlooked {
		return bump("a/values-prod.yaml", "x: 1.0.0\n", files{"a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.1.0\n", "a/crds/w.yaml": widgetsCRD, "a/templates/x.yaml": "{{ required \"y\" .Values.y }}\n" + template})
	}
	generated := func(values string) overlooked {
		return bump("crds/values.yaml", values, inFlux(files{
			"crds/kustomization.yaml": "namespace: it\nresources: [h.yaml]\nconfigMapGenerator: [{name: v, files: [values.yaml]}]\nconfigurations: [names.yaml]\n",
			"crds/names.yaml":         "nameReference: [{kind: ConfigMap, version: v1, fieldSpecs: [{path: spec/valuesFrom/name, kind: HelmRelease}]}]\n",
			"crds/h.yaml":             "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: h}\nspec: {chart: {spec: {chart: c, version: 1.2.3, sourceRef: {kind: HelmRepository, name: r}}}, valuesFrom: [{kind: ConfigMap, name: v}]}\n",
		}))
	}
	answering := func(command string) overlooked {
		return bump("crds/j.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: j, image: x, command: [sh, -c, \"until "+command+"; do sleep 1; done; kubectl apply -f /x\"]}]}}}\n", inFlux(nil))
	}
	for name, c := range map[string]struct {
		overlooked

		asks bool
	}{
		"a Deployment that a plugin may read":         {plugin("b/d.yaml", deployment), false},
		"one of its own folder":                       {plugin("a/d.yaml", deployment), true},
		"settings of a program of a plugin's":         {plugin("c/d.yaml", strings.NewReplacer("apps/v1", "builtin", "Deployment", "HelmChartInflationGenerator").Replace(deployment)), true},
		"a template that a plugin may read":           {plugin("b/d.yaml", deployment+"x: \"{{ x }}\"\n"), true},
		"settings that a plugin may read":             {plugin("b/c.yaml", settings), true},
		"a text that a plugin may read":               {plugin("b/x", "1.0.0"), true},
		"what a plugin builds":                        {plugin("a/kustomization.yaml", "namePrefix: 1.0.0\n"), true},
		"what the program asks for that makes values": {maker(asked), false},
		"what else it is told":                        {maker("x: 1.0.0"), true},
		"a manifest beside values":                    {lending("at/one/d.yaml", deployment), false},
		"values":                                      {lending("at/one/values.yaml", "x: 1.0.0\n"), true},
		"values of an image":                          {lending("at/one/values.yaml", "image: {tag: 1.0.0}\n"), false},
		"a chart beside a remote base":                {folder("b/Chart.yaml", "name: b\nversion: 1.0.0\n", files{"at/one/kustomization.yaml": strings.Replace(remote, "1.0.0", "1", 1), "at/one/x.yaml": strings.Replace(gitApplication, "path: deploy", "chart: c", 1)}), false},
		"the remote base":                             {folder("at/one/kustomization.yaml", remote, files{"at/one/x.yaml": aConfigMap}), true},
		"a chart beside what takes any folder":        {folder("b/Chart.yaml", "name: b\nversion: 1.0.0\n", files{"at/one/kustomization.yaml": strings.Replace(remote, "1.0.0", "1", 1), "at/one/x.yaml": appsKustomization}), true},
		"settings of a command":                       {folder("at/one/c.yaml", settings, files{"at/one/j.yaml": strings.Replace(job, "NAME", "settings", 1)}), true},
		"settings of something else":                  {folder("at/one/c.yaml", settings, files{"at/one/j.yaml": strings.Replace(job, "NAME", "other", 1)}), false},
		"settings beside an installer":                {folder("at/one/c.yaml", settings, files{"at/one/s.yaml": sync}), true},
		"a folder called as something in Terraform":   {bump("addons/d.yaml", deployment, files{"b/w.yaml": widgetsCRD, "tf/main.tf": releaseOf + "module \"m\" {\n  addons = local.addons\n  chart_version = \"1\"\n}\n"}), false},
		"a folder that Terraform names":               {bump("addons/d.yaml", deployment, files{"b/w.yaml": widgetsCRD, "tf/main.tf": releaseOf + "module \"m\" {\n  addons = \"addons\"\n  chart_version = \"1\"\n}\n"}), true},
		"a manifest of a chart that lacks another":    {lacking("a/templates/d.yaml", deployment), false},
		"a template of it":                            {lacking("a/templates/d.yaml", deployment+"x: '{{ .Values.x }}'\n"), true},
		"a part of it":                                {lacking("a/templates/_x.tpl", "{{ define \"d.x\" }}1.0.0{{ end }}"), true},
		"an image of values with a hash":              {generated("image: {tag: 1.0.0}\n"), false},
		"a value with a hash":                         {generated("x: 1.0.0\n"), true},
		"values of a chart that fails":                {failing(""), false},
		"values that may decide about a CRD":          {failing(widgetsCRD), true},
		"values that may decide about what is read":   {failing(`{{ if .Values.x }}{{ .Files.Get "crds/w.yaml" }}{{ end }}`), true},
		"a program of a folder of a set":              {folder("at/one/o.yaml", anOperator+mayMakeCRDs, files{}), true},
		"a program of one that lacks a base":          {folder("at/one/o.yaml", anOperator+mayMakeCRDs, files{"at/one/kustomization.yaml": "resources: [o.yaml, 'https://example.com/it?ref=v1']\n"}), true},
		"a program of a chart that lacks another":     {lacking("a/templates/o.yaml", anOperator+mayMakeCRDs), true},
		"one whose right is in another file":          {lacking("a/templates/o.yaml", anOperator, files{"a/templates/r.yaml": strings.TrimPrefix(mayMakeCRDs, "---\n")}), true},
		"whether something answers":                   {answering("curl -sf https://it/1.0.0/x.json >/dev/null 2>&1"), false},
		"what is fetched":                             {answering("curl -sf https://it/1.0.0/x.json >/x 2>/dev/null"), true},
		"what is fetched into a file":                 {answering("curl -sfo /x https://it/1.0.0/x.json >/dev/null"), true},
		"what is sent":                                {answering("curl -d$(curl -s https://it/1.0.0/x.json | kubectl apply -f -) http://it >/dev/null"), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			want := cli.ExitDone
			if c.asks {
				want = cli.ExitUnknown
			}
			g.Expect(code).To(Equal(want), out+errOut)
		})
	}
}
