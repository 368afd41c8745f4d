package check

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/optin"
)

var update = flag.Bool("update", false, "write what the checks of testdata print into its expected.golden")

// Each folder of testdata/opt-in is a repository, named after what is the case in it. The expected.golden beside
// its manifests is what the check prints, and its exit code.
func TestCheckOptIn(t *testing.T) {
	cases, err := filepath.Glob("testdata/opt-in/*")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(cases)).To(BeNumerically(">", 20))
	for _, folder := range cases {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			g := NewWithT(t)
			golden, err := filepath.Abs(filepath.Join(folder, "expected.golden"))
			g.Expect(err).NotTo(HaveOccurred())
			t.Chdir(newRepository(t, folder))
			ran := moult.Run(t, "check", "opt-in", ".")
			got := fmt.Sprintf("%s%sexit code %d\n", ran.Out, ran.ErrOut, ran.Code)
			if *update {
				g.Expect(os.WriteFile(golden, []byte(got), 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(string(want)))
		})
	}
}

// newRepository is a copy of a folder that lies in no other repository.
func newRepository(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	NewWithT(t).Expect(os.CopyFS(dir, os.DirFS(folder))).To(Succeed())
	return dir
}

// checkOptIn runs the check with something on standard input.
func checkOptIn(t *testing.T, stdin string, args ...string) (out, errOut string, code int) {
	t.Helper()
	got := moult.Piped(t, stdin, append([]string{"check", "opt-in"}, args...)...)
	return got.Out, got.ErrOut, got.Code
}

func TestCheckOptInReadsWhatHelmRenders(t *testing.T) {
	g := NewWithT(t)
	rendered, err := os.ReadFile("testdata/helm/rendered.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	out, errOut, code := checkOptIn(t, string(rendered), "-")
	g.Expect(code).To(Equal(cli.ExitNotDone), errOut)
	g.Expect(out).To(ContainSubstring("error: NotLabelled  standard input:29 (widgets/templates/crds.yaml)  CustomResourceDefinition widgets.example.com"))
	g.Expect(out).NotTo(ContainSubstring("gadgets.example.com"), "it carries the label")
	g.Expect(out).To(ContainSubstring("2 CRDs: 1 opted in"))
}

func TestCheckOptInPrintsForPrograms(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(newRepository(t, "testdata/opt-in/a-label-is-missing"))
	out, _, code := checkOptIn(t, "", ".", "-o", "json")
	g.Expect(code).To(Equal(cli.ExitNotDone))
	var report optin.Report
	g.Expect(json.Unmarshal([]byte(out), &report)).To(Succeed())
	g.Expect(report.OK).To(BeFalse())
	g.Expect(report.CRDs).To(ConsistOf(
		optin.ReportedCRD{Name: "gadgets.example.com", Versions: []string{"v1alpha1", "v1"}, OptedIn: true, Build: "crds/gadgets.yaml"},
		optin.ReportedCRD{Name: "widgets.example.com", Versions: []string{"v1alpha1", "v1"}, Build: "crds/widgets.yaml"},
	))
	g.Expect(report.Findings).To(HaveLen(1))
	g.Expect(report.Findings[0].Place.File).To(Equal("crds/widgets.yaml"))
	g.Expect(report.Findings[0].Place.Line).To(Equal(3))
	g.Expect(report.Findings[0].Resource).To(Equal("CustomResourceDefinition widgets.example.com"))
	g.Expect(report.Findings[0].CRDs).To(Equal([]string{"widgets.example.com"}))
}

func TestCheckOptInKnowsWhenItCannotKnow(t *testing.T) {
	t.Chdir(t.TempDir())
	g := NewWithT(t)
	g.Expect(os.MkdirAll("component", 0o750)).To(Succeed())
	for name, content := range map[string]string{
		"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
		"broken.yaml":                  "kind: CustomResourceDefinition\n  x: {\n",
	} {
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no path":              {nil, "name at least one PATH"},
		"no such path":         {[]string{"nowhere"}, "nowhere: there is no such file or folder; name one"},
		"no CRD":               {[]string{"-"}, "there is no CustomResourceDefinition to check"},
		"a component":          {[]string{"component"}, "component is a Component, which is built only as part of a kustomization"},
		"a broken file":        {[]string{"broken.yaml"}, "broken.yaml is neither YAML nor JSON"},
		"a broken CRD":         {[]string{"."}, "broken.yaml is neither YAML nor JSON"},
		"an unknown format":    {[]string{".", "-o", "xml"}, "-o xml is none of json, yaml"},
		"a key that is no key": {[]string{"-", "--label-key", "not a key"}, "not a key"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out, errOut, code := checkOptIn(t, "", c.args...)
			g.Expect(code).To(Equal(cli.ExitError), errOut)
			g.Expect(errOut).To(ContainSubstring(c.says))
			g.Expect(out).To(BeEmpty(), "0 CRDs would read as if all were well")
		})
	}
}

// A build that fails does not hide what the others show.
func TestCheckOptInGoesOnAfterABuildThatFails(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(newRepository(t, "testdata/opt-in/a-label-is-missing"))
	g.Expect(os.MkdirAll("broken", 0o750)).To(Succeed())
	g.Expect(os.WriteFile("broken/kustomization.yaml", []byte("resources: [missing.yaml]\n"), 0o600)).To(Succeed())
	out, errOut, code := checkOptIn(t, "", ".")
	g.Expect(errOut).To(ContainSubstring("broken cannot be built: "))
	g.Expect(out).To(ContainSubstring("NotLabelled"))
	g.Expect(errOut).To(ContainSubstring("1 thing to fix"))
	g.Expect(code).To(Equal(cli.ExitError), "as with the other subcommands, what could not be told counts most")
}

func TestCheckOptInLooksForAnotherLabel(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(newRepository(t, "testdata/opt-in/the-component-is-listed"))
	out, _, code := checkOptIn(t, "", ".", "--label-key", "widgets.example.com/migrate")
	g.Expect(code).To(Equal(cli.ExitNotDone))
	g.Expect(out).To(ContainSubstring("not the label widgets.example.com/migrate"))
}

func TestCheckOptInTakesOverlappingPathsOnce(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(newRepository(t, "testdata/opt-in/the-component-is-listed"))
	out, errOut, code := checkOptIn(t, "", ".", "kustomization.yaml", "crds", "crds/widgets.yaml")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(out).To(HavePrefix("1 CRD: 1 opted in"))
}

// What Flux and Argo CD apply is in the repository: a path that leads out of it is not followed, be it a link.
func TestCheckOptInStaysInTheRepository(t *testing.T) {
	const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {versions: [{name: v1alpha1}, {name: v1}]}
`
	const delivers = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: crds, namespace: flux-system}
spec: {path: %s, force: true}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: crds, namespace: argocd}
spec: {source: {path: %[1]s}}
`
	for name, path := range map[string]string{
		"a path beside it":                    "../outside",
		"a path that leads out further below": "clusters/../../outside",
		"a link":                              "linked",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			around := t.TempDir()
			for file, content := range map[string]string{
				"outside/crd.yaml": crd, "repository/.git/HEAD": "", "repository/clusters/crds.yaml": fmt.Sprintf(delivers, path),
			} {
				file = filepath.Join(around, file)
				g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
				g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
			}
			g.Expect(os.Symlink("../outside", filepath.Join(around, "repository/linked"))).To(Succeed())
			t.Chdir(filepath.Join(around, "repository"))
			out, errOut, _ := checkOptIn(t, "", ".")
			g.Expect(out+errOut).NotTo(ContainSubstring("widgets.example.com"), "it is in no file of the repository")
		})
	}
}
