package preview

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/preview"
)

// What a chart brings, rendered elsewhere, is judged together with the manifests of the repository.
func TestWhatIsRenderedElsewhereIsJudgedTogether(t *testing.T) {
	const widget = "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: w}\n"
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a version leaves, and a manifest is written at it": {[]string{"--also-base", "before.yaml", "--also", "after.yaml"}, cli.ExitNotDone, "applies Widget w at v1alpha1"},
		"nothing changes":           {[]string{"--also-base", "before.yaml", "--also", "before.yaml"}, cli.ExitDone, "no CRD changes"},
		"it is for the entry point": {[]string{"--also-base", "production=before.yaml", "--also", "clusters/production=after.yaml"}, cli.ExitNotDone, "at v1alpha1"},
		"it is for another one":     {[]string{"--also", "staging=after.yaml"}, cli.ExitError, "--also staging=after.yaml: there is no entry point staging"},
		"before is not said":        {[]string{"--also", "after.yaml"}, cli.ExitUnknown, "what the cluster stores is not known"},
		"there is no such file":     {[]string{"--also", "nowhere.yaml"}, cli.ExitError, "--also: open nowhere.yaml"},
		"it is no YAML":             {[]string{"--also", "broken.yaml"}, cli.ExitError, "broken.yaml is neither YAML nor JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"repository/clusters/production/w.yaml": widget, "before.yaml": widgetsCRD, "after.yaml": without, "broken.yaml": "a: b: c\n",
			})
			code, out, errOut := previewed(t, append([]string{"--base", "repository", "--head", "repository", "--entry", "clusters/production"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out+errOut), " ")).To(ContainSubstring(c.says))
		})
	}
	g := clitest.InRepository(t, map[string]string{"a.yaml": widgetsCRD})
	code, _, errOut := previewed(t, "--base", "a.yaml", "--head", "a.yaml", "--also", "a.yaml")
	g.Expect(code).To(Equal(cli.ExitError))
	g.Expect(errOut).To(ContainSubstring("name that with --entry"))
}

func TestWhatIsUnknownIsAcknowledgedInTheRepository(t *testing.T) {
	release := func(version string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: redis, namespace: apps}\nspec: {chart: {spec: {chart: redis, version: " + version + "}}}\n"
	}
	const yes = "acknowledge:\n- {what: HelmRelease apps/redis, why: it has no CRDs, until: 2020-01-01}\n"
	for name, c := range map[string]struct {
		file string
		args []string
		code int
		says string
	}{
		"nobody has":               {"", nil, cli.ExitUnknown, "HelmRelease apps/redis changes"},
		"somebody has":             {strings.Replace(yes, "2020-01-01", time.Now().AddDate(0, 1, 0).Format(time.DateOnly), 1), nil, cli.ExitDone, "1 unknown thing is acknowledged"},
		"it has run out":           {yes, nil, cli.ExitUnknown, "it was acknowledged until 2020-01-01 (it has no CRDs): look again"},
		"the file is broken":       {"acknowledge: x\n", nil, cli.ExitError, ".moult.yaml: "},
		"only what is known":       {"", []string{"--fail-on", "blocked"}, cli.ExitDone, "UNKNOWN"},
		"what is unknown, as ever": {"", []string{"--fail-on", "unknown"}, cli.ExitUnknown, "UNKNOWN"},
		"warnings, too":            {"", []string{"--fail-on", "warning"}, cli.ExitUnknown, "UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"base/clusters/production/r.yaml": release("1.0.0"), "head/clusters/production/r.yaml": release("1.1.0")}
			if c.file != "" {
				files["base/.moult.yaml"], files["head/.moult.yaml"] = c.file, c.file
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, append([]string{"--base", "base", "--head", "head", "--entry", "clusters/production"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out+errOut), " ")).To(ContainSubstring(c.says))
		})
	}
}

// A file that is named alone is read with the file in which its repository acknowledges something.
func TestTheAcknowledgementsAreReadWhateverIsNamed(t *testing.T) {
	NewWithT(t).Expect(repository.SettingsFile).To(Equal(preview.AcknowledgementsFile))
}
