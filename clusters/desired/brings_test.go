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

// What values a plug-in or a cluster gives is not known. Charts that bring the same CRDs with any values need none of them.
func TestChartsWithUnknownValuesAreComparedByTheirCRDs(t *testing.T) {
	const meta, spec = "apiVersion: v2\nname: c\nversion: 1.0.0\n", "source: {chart: c, repoURL: 'https://charts', targetRevision: 1.0.0, helm: {valuesObject: {host: '{{ .host }}', text: a}}}"
	generated := object("argoproj.io/v1alpha1", "ApplicationSet", "s", "goTemplate: true, generators: [{plugin: {configMapRef: {name: p}}}], template: {metadata: {name: s}, spec: {"+spec+"}}")
	released := helm("chart: {spec: {chart: c, version: 1.0.0, sourceRef: {kind: HelmRepository, name: r}}}, values: {host: '${host}', text: a}") + source("HelmRepository", "r", "url: https://charts")
	flux := flux("f", "path: ./f, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substituteFrom: [{kind: Secret, name: not-here}]}")
	chart := files{"c/Chart.yaml": meta, "c/crds/x.yaml": crd("x"), "c/templates/m.yaml": "{{ if .Values.host }}\n" + configMap("m", "x: y") + "{{ end }}\n", "c/README.md": "kind: CustomResourceDefinition\n"}
	for name, c := range map[string]struct {
		next     files // of the chart
		from, to string
		same     bool
	}{
		"other templates":                 {next: files{"c/templates/m.yaml": configMap("m", "x: z"), "c/values.yaml": "image: b\n"}, same: true},
		"another CRD":                     {next: files{"c/crds/x.yaml": crd("y")}},
		"a CRD that is a template":        {next: files{"c/templates/x.yaml": "{{ if .Values.host }}\n" + crd("y") + "{{ end }}\n"}},
		"a CRD among the templates":       {next: files{"c/templates/x.yaml": crd("y")}},
		"a CRD that becomes a template":   {next: files{"c/crds/x.yaml": "", "c/templates/x.yaml": crd("x")}},
		"a kind that is filled in":        {next: files{"c/templates/x.yaml": "kind: {{ .Values.kind }}\n"}},
		"a file with CRDs":                {next: files{"c/files/x.yaml": crd("y")}},
		"a command":                       {next: files{"c/templates/j.yaml": "kind: Job\nspec: {command: [kubectl, apply, -f, 'https://example.com/crds.yaml']}\n"}},
		"a chart in it that is optional":  {next: files{"c/Chart.yaml": meta + "dependencies: [{name: d, version: 1.0.0, repository: '', condition: d.on}]\n", "c/charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n"}},
		"an image":                        {from: "text: a", to: "text: b", same: true},
		"a text around one of them":       {from: "host: '", to: "host: 'at.", same: true},
		"a value of another kind":         {from: "text: a", to: "extra: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}]"},
		"another value that is not known": {from: "text: a", to: "image: '{{ .x }}', '${x}': '${x}'"},
		"another setting":                 {from: "spec: {", to: "spec: {paused: true, "},
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
				desired.CompareCharts(sides[0], sides[1])
				g.Expect(sides[0].Unseen[0].Fingerprint == sides[1].Unseen[0].Fingerprint).To(Equal(c.same))
			})
		}
	}
}
