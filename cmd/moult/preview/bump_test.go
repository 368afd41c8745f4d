package preview

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/charttest"
)

const entryOfFlux = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: flux-system}\nspec: {url: 'ADDRESS', type: TYPE}\n---\n" +
	"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: widgets, namespace: flux-system}\n" +
	"spec: {chart: {spec: {chart: widgets, version: VERSION, sourceRef: {kind: HelmRepository, name: charts}}}}\n"

const entryOfOCI = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: widgets, namespace: flux-system}\nspec: {url: 'ADDRESS/widgets', ref: {tag: VERSION}}\n---\n" +
	"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: widgets, namespace: flux-system}\nspec: {chartRef: {kind: OCIRepository, name: widgets}}\n"

const entryOfArgoCD = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: widgets, namespace: argocd}\n" +
	"spec: {destination: {namespace: widgets}, source: {repoURL: 'ADDRESS', chart: widgets, targetRevision: VERSION}}\n"

const artifactOfArgoCD = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: widgets, namespace: argocd}\n" +
	"spec: {destination: {namespace: widgets}, source: {repoURL: 'ADDRESS/widgets', path: ., targetRevision: VERSION}}\n"

// widgetsReleases are 1.0.0 with both versions, 1.1.0 with the same, and 2.0.0 without v1alpha1.
var widgetsReleases = map[string]charttest.Chart{
	"1.0.0": charttest.Of("widgets", "1.0.0", map[string]string{"templates/crd.yaml": widgetsCRD}),
	"1.1.0": charttest.Of("widgets", "1.1.0", map[string]string{"templates/crd.yaml": widgetsCRD, "templates/more.yaml": configMap}),
	"2.0.0": charttest.Of("widgets", "2.0.0", map[string]string{"templates/crd.yaml": without}),
}

// withoutHelm keeps what Helm and Docker know on this machine out of a test.
func withoutHelm(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"HELM_CONFIG_HOME", "HELM_CACHE_HOME", "DOCKER_CONFIG"} {
		t.Setenv(folder, t.TempDir())
	}
}

// bumped are a repository before and after its chart goes from one version to another.
func bumped(t *testing.T, entry, url, from, to string) Gomega {
	t.Helper()
	kind := "default"
	if strings.HasPrefix(url, "oci://") {
		kind = "oci"
	}
	of := func(version string) string {
		return strings.NewReplacer("ADDRESS", url, "TYPE", kind, "VERSION", "'"+version+"'").Replace(entry)
	}
	return clitest.InRepository(t, map[string]string{"base/clusters/production/w.yaml": of(from), "head/clusters/production/w.yaml": of(to)})
}

// The pull request that people have: another version of a chart from elsewhere.
func TestABumpOfAChartIsSeen(t *testing.T) {
	t.Setenv("CI", "true")
	withoutHelm(t)
	overHTTP := charttest.Repository(t, "widgets", widgetsReleases, nil).URL + "/charts"
	overOCI := strings.Replace(charttest.Registry(t, "widgets", widgetsReleases, nil).URL, "http", "oci", 1) + "/charts"
	for how, c := range map[string]struct{ entry, url string }{
		"Flux over HTTP": {entryOfFlux, overHTTP}, "Flux over OCI": {entryOfFlux, overOCI}, "an OCIRepository": {entryOfOCI, overOCI},
		"Argo CD over HTTP": {entryOfArgoCD, overHTTP}, "Argo CD over OCI": {entryOfArgoCD, overOCI},
		"Argo CD, an artifact":               {artifactOfArgoCD, overOCI},
		"Argo CD over OCI, without a scheme": {entryOfArgoCD, strings.TrimPrefix(overOCI, "oci://")},
	} {
		for name, bump := range map[string]struct {
			from, to string
			code     int
			says     string
		}{
			"nothing about CRDs":        {"1.0.0", "1.1.0", cli.ExitDone, "no CRD changes"},
			"a version leaves":          {"1.0.0", "2.0.0", cli.ExitUnknown, "v1alpha1 of widgets.example.com"},
			"a chart that is not there": {"1.0.0", "3.0.0", cli.ExitUnknown, "could be seen before this change and cannot any more"},
		} {
			t.Run(how+": "+name, func(t *testing.T) {
				g := bumped(t, c.entry, c.url, bump.from, bump.to)
				code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
				g.Expect(code).To(Equal(bump.code), out+errOut)
				g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(bump.says))
				g.Expect(out).NotTo(ContainSubstring("from another place or revision"))
			})
		}
	}
}

func TestAPullRequestDoesNotChooseWhomThePreviewAsks(t *testing.T) {
	withoutHelm(t)
	known, foreign := charttest.Repository(t, "widgets", widgetsReleases, nil), charttest.Repository(t, "widgets", widgetsReleases, nil)
	host := strings.TrimPrefix(foreign.URL, "http://")
	for name, c := range map[string]struct {
		ci   string
		args []string
		code int
		says string
	}{
		"in CI":                {"true", nil, cli.ExitUnknown, "the base does not use the host " + host},
		"in CI, allowed":       {"true", []string{"--allow-hosts", host}, cli.ExitDone, "no CRD changes"},
		"at somebody's":        {"", nil, cli.ExitDone, "no CRD changes"},
		"at somebody's, asked": {"", []string{"--offline"}, cli.ExitUnknown, "changes, and what CRDs it brings is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CI", c.ci)
			g := bumped(t, entryOfFlux, known.URL+"/charts", "1.0.0", "1.0.0")
			file := filepath.Join("head", "clusters", "production", "w.yaml")
			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(file, []byte(strings.ReplaceAll(string(content), known.URL, foreign.URL)), 0o600)).To(Succeed())
			code, out, errOut := previewed(t, append([]string{"--base", "base", "--head", "head", "--entry", "clusters/production"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

func TestARangeSaysWhichVersionWasTaken(t *testing.T) {
	t.Setenv("CI", "")
	withoutHelm(t)
	url := charttest.Repository(t, "widgets", widgetsReleases, nil).URL + "/charts"
	g := bumped(t, entryOfFlux, url, "1.x", "2.x")
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
	g.Expect(code).To(Equal(cli.ExitUnknown), out+errOut)
	g.Expect(out).To(ContainSubstring("v1alpha1"))
	g.Expect(errOut).To(And(ContainSubstring("chart: widgets 1.x of "+url+" is 1.1.0"), ContainSubstring("chart: widgets 2.x of "+url+" is 2.0.0")))
}

func TestChartsInAFolderNeedNoRegistry(t *testing.T) {
	g := bumped(t, entryOfFlux, "https://charts.invalid", "1.0.0", "2.0.0")
	g.Expect(os.Mkdir("charts", 0o750)).To(Succeed())
	for version, chart := range maps.All(widgetsReleases) {
		g.Expect(os.WriteFile(filepath.Join("charts", "widgets-"+version+".tgz"), chart.Packed(t), 0o600)).To(Succeed())
	}
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production", "--charts", "charts")
	g.Expect(code).To(Equal(cli.ExitUnknown), out+errOut)
	g.Expect(out).To(ContainSubstring("v1alpha1"))

	code, _, errOut = previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production", "--charts", "none")
	g.Expect(code).To(Equal(cli.ExitError))
	g.Expect(errOut).To(ContainSubstring("--charts none is no folder"))
}
