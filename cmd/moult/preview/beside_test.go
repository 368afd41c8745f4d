package preview

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// What applies the sources may not be seen. Where the entry points were guessed, and the repository has one source of a name, that is it.
func TestASourceBesideAGuessedEntryPointIsFound(t *testing.T) {
	const (
		source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: flux-system}\nspec: {url: 'https://charts.invalid'}\n"
		unseen = "HelmRepository flux-system/charts is not in this repository"
	)
	ofValues := func(version string) string {
		return strings.NewReplacer("version:", "sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}, version:", "spec: {chart", "spec: {valuesFrom: [{kind: ConfigMap, name: c}], chart").Replace(release(version))
	}
	with := func(more files) overlooked {
		c := bump("apps/w/h.yaml", strings.Replace(release("1.0.0"), "version:", "sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}, version:", 1),
			files{"clusters/a/k.yaml": fluxTo("./apps/w", "")})
		maps.Copy(c.common, more)
		return c
	}
	for name, c := range map[string]struct {
		overlooked
		args []string
		says string
	}{
		"the only one":             {with(files{"repos/r.yaml": source}), nil, "v1alpha1"},
		"two that say the same":    {with(files{"repos/r.yaml": source, "other/r.yaml": source}), nil, "v1alpha1"},
		"two that do not":          {with(files{"repos/r.yaml": source, "other/r.yaml": strings.Replace(source, "charts.invalid", "other.invalid", 1)}), nil, unseen},
		"one of another namespace": {with(files{"repos/r.yaml": strings.Replace(source, "flux-system", "other", 1)}), nil, unseen},
		"an example":               {with(files{"docs/r.yaml": source}), nil, unseen},
		"values without a namespace, as a kustomization makes them": {
			overlooked{
				common: files{"apps/w/kustomization.yaml": "resources: [h.yaml, r.yaml]\nconfigMapGenerator: [{name: c, literals: ['values.yaml=a: b']}]\ngeneratorOptions: {disableNameSuffixHash: true}\n", "apps/w/r.yaml": source},
				base:   files{"apps/w/h.yaml": ofValues("1.0.0")}, head: files{"apps/w/h.yaml": ofValues("2.0.0")},
			},
			[]string{"--entry", "apps/w"}, "v1alpha1",
		},
		"a named entry point": {with(files{"repos/r.yaml": source}), []string{"--entry", "clusters/a"}, unseen},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.write(t)
			g.Expect(os.Mkdir("charts", 0o750)).To(Succeed())
			for version, chart := range maps.All(widgetsReleases) {
				g.Expect(os.WriteFile(filepath.Join("charts", "widgets-"+version+".tgz"), chart.Packed(t), 0o600)).To(Succeed())
			}
			code, out, errOut := previewed(t, append(c.args, "--base", "base", "--head", "head", "--charts", "charts")...)
			g.Expect(code).To(Equal(cli.ExitUnknown), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

// A chart that can be seen on one side only is reported, and what it brings is not, too.
func TestWhatIsInAChartThatCannotBeSeenAnyMoreIsNotReportedToo(t *testing.T) {
	of := func(chart string) files {
		return files{"apps/a.yaml": strings.Replace(ofArgoCD("")["apps/a.yaml"], "path: c", "path: "+chart, 1)}
	}
	c := overlooked{
		common: files{"c/Chart.yaml": chartC, "c/templates/o.yaml": anOperator + mayMakeCRDs, "d/Chart.yaml": chartC + "dependencies: [{name: e, version: 1.0.0, repository: 'https://charts.invalid'}]\n"},
		base:   of("c"), head: of("d"),
	}
	g := c.write(t)
	_, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
	g.Expect(out).To(ContainSubstring("could be seen before this change and cannot any more"), errOut)
	g.Expect(out).NotTo(ContainSubstring("Deployment"), errOut)
}
