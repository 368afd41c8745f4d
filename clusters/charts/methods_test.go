package charts

import (
	"testing"

	"github.com/Masterminds/sprig/v3"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/moult-dev/moult/test/templates"
)

// Helm adds functions to those of sprig. They return texts, and maps and lists of what YAML, JSON and TOML hold.
func TestAReleaseKeepsTheMethodsThatChartsCanCall(t *testing.T) {
	g := NewWithT(t)
	chart, err := load([]*archive.BufferedFile{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: widgets\nversion: 1.2.3\nmaintainers: [{name: x}]\ndependencies: [{name: sub, version: 1.0.0, import-values: [data]}]\n")},
		{Name: "charts/sub/Chart.yaml", Data: []byte("apiVersion: v2\nname: sub\nversion: 1.0.0\n")},
		{Name: "values.yaml", Data: []byte("a: 1\nb: 1.5\nc: 2025-01-01T00:00:00Z\nd: {e: [null, true, text]}\n")},
		{Name: "file", Data: []byte("content")},
		{Name: "templates/x", Data: []byte("{{ see . }}")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	values, err := chart.prepare(Release{Name: "r", Namespace: "n"})
	g.Expect(err).NotTo(HaveOccurred())
	var given any
	see := func(value any) string { given = value; return "" }
	_, err = engine.Engine{CustomTemplateFuncs: map[string]any{"see": see}}.Render(chart.chart, values)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(given).To(HaveKey("Files"))
	g.Expect(templates.Missing(given, sprig.TxtFuncMap(), functions())).To(BeEmpty())
}
