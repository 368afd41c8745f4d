package versions

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/deprecation"
)

// charted is an operator with a chart, whose newest tag is v1.1.0.
func charted(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	const same = "v1 served,stored size: {type: integer}"
	p.release("v1.0.0", "2024-01-01", map[string]string{bases: crd(same)})
	p.release("v1.1.0", "2024-06-01", map[string]string{
		"charts/widgets/Chart.yaml": "name: widgets\nversion: 1.1.0\n", "charts/widgets/crds/widgets.yaml": crd(same, "v1beta1 served"),
		"charts/widgets/templates/crds.yaml": "{{ if .Values.crds }}\n" + crd("v1 served,stored") + "{{ end }}\n",
		"bundle/manifests/widgets.yaml":      crd(same), "bundle/1.0.0/widgets.yaml": crd("v1alpha1 served,stored"),
	})
	return p
}

func TestTheOtherPlacesOfACRDAreHeldAgainstIt(t *testing.T) {
	p := charted(t)
	got := p.run()
	p.Expect(got.Code).To(Equal(cli.ExitUnknown), got.ErrOut)
	p.Expect(got.ErrOut).To(ContainSubstring("not all CRDs were looked at: v1.1.0: 1 file with CRDs, such as templates of a chart"))
	p.Expect(got.Out).To(HavePrefix("v1.0.0 → v1.1.0\n  warning: PlacesDiffer  widgets.example.com  (charts/widgets/crds/widgets.yaml)\n    it is not the CRD of config/crd/bases/widgets.yaml: it has v1beta1 more; "), got.Out)
	p.Expect(got.Out).To(And(ContainSubstring("note: v1.1.0: 1 file with CRDs"), HaveSuffix("0 errors, 1 warning, 0 for information\n")))
	p.write(map[string]string{"charts/widgets/crds/widgets.yaml": crd("v1 served,stored size: {type: integer}")})
	p.Expect(p.run().Out).To(HaveSuffix("0 errors, 0 warnings, 0 for information\n"), "it is fixed in the work tree")
	p.Expect(p.run("--unreleased=false").Out).To(ContainSubstring("PlacesDiffer"))
}

func TestAChartMayNotBeAheadOfItsImage(t *testing.T) {
	p := newProject(t)
	const ahead = "error: ChartAheadOfImage  widgets.example.com v1  "
	p.release("v1.0.0", "2024-01-01", map[string]string{bases: crd("v1beta1 served,stored")})
	p.release("v1.0.1", "2024-01-01", nil)
	p.release("v1.1.0", "2024-06-01", map[string]string{
		bases: crd("v1beta1 served,stored", "v1 served"), "charts/widgets/crds/widgets.yaml": crd("v1beta1 served,stored", "v1 served"),
		"charts/widgets/Chart.yaml": "name: widgets\nversion: 3.0.0\nappVersion: 1.0.1\n",
	})
	got := p.run()
	p.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	p.Expect(got.Out).To(ContainSubstring(ahead + "(charts/widgets/Chart.yaml)\n    the chart installs charts/widgets/crds/widgets.yaml, which serves v1, and the image of v1.0.1, which does not know that version"))
	p.write(map[string]string{"charts/widgets/values.yaml": "image:\n  tag: v1.1.0\n"})
	p.Expect(p.run().Code).To(BeZero(), "the values name another image")
	p.write(map[string]string{"charts/widgets/values.yaml": "image:\n  tag: v1.0.0\n"})
	p.Expect(p.run().Out).To(ContainSubstring(ahead + "(charts/widgets/values.yaml)"))
	p.write(map[string]string{"charts/widgets/values.yaml": "", "charts/widgets/Chart.yaml": "name: widgets\nappVersion: 7.0.0\n"})
	p.Expect(p.run().Code).To(BeZero(), "there is no such tag")
}

func TestSamplesAndDocumentsAreHeldAgainstTheCRDs(t *testing.T) {
	p := newProject(t)
	p.release("v1.0.0", "2024-01-01", map[string]string{bases: crd("v1beta1 served,stored")})
	p.release("v1.1.0", "2024-06-01", map[string]string{bases: crd("v1beta1 served,deprecated", "v1 served,stored size: {type: integer}")})
	widget := func(version, spec string) string {
		return "apiVersion: example.com/" + version + "\nkind: Widget\nmetadata: {name: a}\nspec: " + spec + "\n"
	}
	p.write(map[string]string{
		"config/samples/a.yaml":  "# one that is right\n" + widget("v1", "{size: 1}") + "---\n" + widget("v1", "{size: one}"),
		"README.md":              "# Widgets\n\n1. Make one:\n\n   ```yaml\n   " + strings.ReplaceAll(widget("v1", "{colour: red}"), "\n", "\n   ") + "\n   ```\n\n```sh\n" + widget("v0", "{}") + "```\n",
		"docs/guide/old.md":      "~~~yaml\n" + widget("v1alpha1", "{}") + "~~~\n",
		"examples/template.yaml": widget("v1", "{size: {{ .size }}}") + "---\n" + widget("v1", "{size: ${SIZE}}"),
		"examples/broken.yaml":   widget("v1", "{size"),
		"internal/other.yaml":    widget("v1alpha1", "{}"),
		"docs/proposals/old.md":  "```yaml\n" + widget("v1alpha1", "{}") + "```\n",
		"docs/left-out.md":       "```yaml\n" + widget("v1", "\n  size: \"...\"") + "```\n",
		"outside.yaml":           widget("v1alpha1", "{}"),
	})
	p.Expect(os.Symlink("../../outside.yaml", "config/samples/link.yaml")).To(Succeed())
	got := p.run("-o", "json")
	p.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	var report deprecation.Report
	p.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	var said []string
	for _, f := range report.Findings {
		if f.Rule == deprecation.SampleInvalid {
			said = append(said, string(f.Severity)+" "+f.Place.String()+" "+f.Version)
		}
	}
	p.Expect(said).To(ConsistOf("warning config/samples/a.yaml:7 v1", "warning README.md:6 v1", "error docs/guide/old.md:2 v1alpha1"), got.Out)
}

func TestThePageNamesEveryRule(t *testing.T) {
	here, err := os.Getwd()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(here, "../../../../docs/versions.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, table, _ := strings.Cut(string(page), "## The rules")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, rule := range deprecation.Rules() {
		g.Expect(table).To(ContainSubstring("`" + rule + "`"))
	}
}
