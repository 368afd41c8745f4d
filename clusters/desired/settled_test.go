package desired_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/delivery"
)

// byVersion has charts of a registry, by their versions.
type byVersion map[string]*charts.Chart

func (v byVersion) Chart(_ context.Context, reference charts.Reference) (*charts.Chart, error) {
	if chart := v[reference.Version]; chart != nil {
		return chart, nil
	}
	return nil, charts.ErrNotAsked
}

// What values a plug-in or a cluster gives is not known. Charts whose CRDs depend on none of them are compared all the same.
func TestChartsAreComparedByWhatNoUnknownValueDecides(t *testing.T) {
	const meta, spec = "apiVersion: v2\nname: c\nversion: 1.0.0\n", "source: {chart: c, repoURL: 'https://charts', targetRevision: 1.0.0, helm: {valuesObject: {host: '{{ .host }}', text: a, on: true}}}"
	generated := object("argoproj.io/v1alpha1", "ApplicationSet", "s", "goTemplate: true, generators: [{plugin: {configMapRef: {name: p}}}], template: {metadata: {name: s}, spec: {"+spec+"}}")
	released := helm("chart: {spec: {chart: c, version: 1.0.0, sourceRef: {kind: HelmRepository, name: r}}}, values: {host: '${host}', text: a, on: true}") + source("HelmRepository", "r", "url: https://charts")
	flux := flux("f", "path: ./f, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substituteFrom: [{kind: Secret, name: not-here}]}")
	when := func(condition, text string) string { return "{{ if " + condition + " }}\n" + text + "{{ end }}\n" }
	chart := files{
		"c/Chart.yaml": meta, "c/crds/x.yaml": crd("x"), "c/templates/m.yaml": when(".Values.host", configMap("m", "x: y")), "c/README.md": "kind: CustomResourceDefinition\n",
		"c/templates/crd.yaml": when(".Values.on", crd("z")), "c/templates/_all.tpl": "{{ define \"crd\" }}" + crd("y") + "{{ end }}",
	}
	for name, c := range map[string]struct {
		next     files // of the chart
		from, to string
		same     bool
	}{
		"other templates":                   {next: files{"c/templates/m.yaml": configMap("m", "x: z"), "c/values.yaml": "image: b\n"}, same: true},
		"another CRD":                       {next: files{"c/crds/x.yaml": crd("y")}},
		"a CRD among the templates":         {next: files{"c/templates/x.yaml": crd("y")}},
		"a CRD that a known value decides":  {next: files{"c/templates/crd.yaml": when("not .Values.on", "") + when(".Values.on", crd("z"))}, same: true},
		"another known value decides":       {from: "on: true", to: "on: false"},
		"a CRD that an unknown one decides": {next: files{"c/templates/crd.yaml": when(`and .Values.on (ne .Values.host "a")`, crd("z"))}},
		"one that it decides by an else":    {next: files{"c/templates/m.yaml": when(".Values.host", configMap("m", "x: y")+"{{ else }}"+crd("y"))}},
		"by a part":                         {next: files{"c/templates/m.yaml": when(`eq .Values.host "a"`, `{{ include "crd" . }}`)}},
		"by a variable":                     {next: files{"c/templates/crd.yaml": "{{ $v := .Values }}" + when("$v.host", crd("z"))}},
		"by a change of another value":      {next: files{"c/templates/a.yaml": `{{ $_ := set .Values "on" (eq .Values.host "unknown") }}`}},
		"a CRD moves into the templates":    {next: files{"c/crds/x.yaml": "", "c/templates/x.yaml": crd("x")}},
		"a kind that is filled in":          {next: files{"c/templates/x.yaml": "kind: {{ .Values.host }}\n"}},
		"an object that is":                 {next: files{"c/templates/x.yaml": when(".Values.host", "{{ toYaml .Values.extra }}\n")}},
		"one behind a comment":              {next: files{"c/templates/x.yaml": when(".Values.host", "# all of it\n{{ toYaml .Values.extra }}\n")}},
		"a command in a value":              {next: files{"c/values.yaml": "run: [kubectl, apply, -f, 'https://example.com/crds.yaml']\n", "c/templates/j.yaml": when(`eq .Values.host "a"`, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  command: {{ toYaml .Values.run | nindent 4 }}\n")}},
		"a text that is a template":         {next: files{"c/values.yaml": "t: '{{ .Values.host }}'\n", "c/templates/crd.yaml": when("tpl .Values.t .", crd("z"))}},
		"what notes change":                 {next: files{"c/templates/NOTES.txt": `{{ $_ := set .Values "on" (eq .Values.host "unknown") }}`}},
		"another document":                  {next: files{"c/templates/x.yaml": when(".Values.host", configMap("m", "x: y")+"{{ range .Values.extra }}\n---\n{{ toYaml . }}\n{{ end }}")}},
		"a file that brings nothing":        {next: files{"c/files/x.json": "{}\n", "c/templates/m.yaml": when(`eq .Values.host "a"`, configMap("m", `x: {{ .Files.Get "files/x.json" | quote }}`))}, same: true},
		"a file with a command":             {next: files{"c/files/x.sh": "kubectl apply -f https://example.com/crds.yaml\n", "c/templates/m.yaml": when(`eq .Values.host "a"`, configMap("m", `x: {{ .Files.Get "files/x.sh" | quote }}`))}},
		"a file with CRDs":                  {next: files{"c/files/x.yaml": crd("y"), "c/templates/x.yaml": when(`eq .Values.host "a"`, `{{ .Files.Get "files/x.yaml" }}`)}},
		"a command":                         {next: files{"c/templates/j.yaml": "apiVersion: v1\nkind: Job\nmetadata: {name: j}\nspec: {command: [kubectl, apply, -f, 'https://example.com/crds.yaml']}\n"}},
		"one that it decides":               {next: files{"c/templates/j.yaml": when(`eq .Values.host "a"`, "apiVersion: v1\nkind: Job\nmetadata: {name: j}\nspec:\n  command: [kubectl, apply, -f, 'https://example.com/crds.yaml']\n")}},
		"a chart in it":                     {next: files{"c/Chart.yaml": meta + "dependencies: [{name: d, version: 1.0.0, repository: '', condition: host}]\n", "c/charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n"}},
		"an image":                          {from: "text: a", to: "text: b", same: true},
		"a text around one of them":         {from: "host: '", to: "host: 'at.", same: true},
		"another value that is not known":   {from: "text: a", to: "image: '{{ .x }}', x: '${x}'", same: true},
		"a value that decides becomes one":  {from: "on: true", to: "on: '{{ .x }}${x}'"},
		"manifests among the values":        {from: "text: a", to: "extra: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}]"},
		"a name that is not known":          {from: "text: a", to: "'{{ .x }}': a, '${x}': a"},
		"another setting":                   {from: "spec: {", to: "spec: {paused: true, "},
	} {
		for tool, entry := range map[string]files{"Argo CD": {"entry/a.yaml": generated}, "Flux": {"entry/a.yaml": flux, "f/h.yaml": released}} {
			t.Run(name+", by "+tool, func(t *testing.T) {
				g := NewWithT(t)
				known := byVersion{}
				for version, its := range map[string]files{"1.0.0": chart, "2.0.0": with(chart, c.next)} {
					tree := opened(t, its)
					loaded, err := charts.Folder(tree.Dir+"/c", tree.Root)
					g.Expect(err).NotTo(HaveOccurred())
					known[version] = loaded
				}
				sides := make([]*delivery.Cluster, 2)
				for i := range sides {
					its := files{}
					for file, content := range entry {
						if i > 0 && c.next != nil {
							content = strings.ReplaceAll(content, "argetRevision: 1", "argetRevision: 2")
							content = strings.ReplaceAll(content, "version: 1", "version: 2")
						} else if i > 0 {
							content = strings.ReplaceAll(content, c.from, c.to)
						}
						its[file] = content
					}
					followed, err := desired.Follow(t.Context(), opened(t, its), "entry", desired.Options{Charts: known})
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(followed.Unseen).To(HaveLen(1))
					sides[i] = followed
				}
				g.Expect(sides[0].Unseen[0].Fingerprint).NotTo(Equal(sides[1].Unseen[0].Fingerprint))
				desired.Settle(sides[0], sides[1])
				g.Expect(sides[0].Unseen[0].Fingerprint == sides[1].Unseen[0].Fingerprint).To(Equal(c.same))
			})
		}
	}
}

// What a chart makes may decide about another one.
func TestAChartMayMakeWhatAnotherTakesValuesFrom(t *testing.T) {
	set := object("argoproj.io/v1alpha1", "ApplicationSet", "s", "goTemplate: true, generators: [{plugin: {configMapRef: {name: p}}}], template: {metadata: {name: s}, spec: {source: {chart: c, repoURL: 'https://charts', targetRevision: VERSION, helm: {valuesObject: {host: '{{ .host }}'}}}}}")
	other := helm("chart: {spec: {chart: other, version: 1.0.0, sourceRef: {kind: HelmRepository, name: r}}}, valuesFrom: [{kind: ConfigMap, name: taken}]")
	for name, c := range map[string]struct {
		from, to string // a template of the chart, before and after
		same     bool
	}{
		"it":                {configMap("taken", "x: y"), configMap("taken", "x: z"), false},
		"another":           {configMap("free", "x: y"), configMap("free", "x: z"), true},
		"one that may be":   {configMap("'{{ .Release.Name }}'", "x: y"), configMap("'{{ .Release.Name }}'", "x: z"), true},
		"one that may come": {"", "{{ if eq .Values.host \"a\" }}" + strings.Replace(configMap("m", "x: z"), "name: m", "name: taken", 1) + "{{ end }}", false},
		"a source":          {"", source("HelmRepository", "r", "url: https://charts"), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known := byVersion{}
			for version, template := range map[string]string{"1.0.0": c.from, "2.0.0": c.to} {
				tree := opened(t, files{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "c/templates/x.yaml": template})
				loaded, err := charts.Folder(tree.Dir+"/c", tree.Root)
				g.Expect(err).NotTo(HaveOccurred())
				known[version] = loaded
			}
			var sides []*delivery.Cluster
			for _, version := range []string{"1.0.0", "2.0.0"} {
				followed, err := desired.Follow(t.Context(), opened(t, files{"entry/a.yaml": strings.ReplaceAll(set, "VERSION", version), "entry/b.yaml": other}), "entry", desired.Options{Charts: known})
				g.Expect(err).NotTo(HaveOccurred())
				sides = append(sides, followed)
			}
			desired.Settle(sides[0], sides[1])
			fingerprints := map[string][]string{}
			for _, side := range sides {
				for _, u := range side.Unseen {
					fingerprints[u.By.GetKind()] = append(fingerprints[u.By.GetKind()], u.Fingerprint)
				}
			}
			both := fingerprints["ApplicationSet"]
			g.Expect(both).To(HaveLen(2))
			g.Expect(both[0] == both[1]).To(Equal(c.same))
		})
	}
}
