package optin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	optincomponent "github.com/moult-dev/moult/clusters/components/opt-in"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/cmd/moult/check"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/delivery"
)

// widgets is a repository with a CRD that is not labelled, and a kustomization if its text is given.
func widgets(t *testing.T, kustomization string) *WithT {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	crd, err := os.ReadFile("../check/testdata/opt-in/a-label-is-missing/crds/widgets.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.MkdirAll(filepath.Join(dir, "crds"), 0o750)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "crds/widgets.yaml"), crd, 0o600)).To(Succeed())
	if kustomization != "" {
		g.Expect(os.WriteFile(filepath.Join(dir, "crds/kustomization.yaml"), []byte(kustomization), 0o600)).To(Succeed())
	}
	t.Chdir(dir)
	return g
}

func optIn(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	got := clitest.Moult{NewCommand}.Run(t, append([]string{"opt-in"}, args...)...)
	return got.Out, got.ErrOut, got.Code
}

func TestOptInKeepsWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"no components": {
			"# ours\nresources:\n- widgets.yaml # all of them\n\n# odd, but ours\ncommonAnnotations:\n    a:   b\n",
			"# ours\nresources:\n- widgets.yaml # all of them\n\n# odd, but ours\ncommonAnnotations:\n    a:   b\ncomponents:\n  - moult-opt-in\n",
		},
		"the last line does not end": {
			"resources: [widgets.yaml]",
			"resources: [widgets.yaml]\ncomponents:\n  - moult-opt-in\n",
		},
		"other components": {
			"components:\n# first\n- ../a # why\n# last\n\nresources:\n- widgets.yaml\n",
			"components:\n# first\n- ../a # why\n- moult-opt-in\n# last\n\nresources:\n- widgets.yaml\n",
		},
		"they are indented": {
			"components:\n    -   ../a\nresources: [widgets.yaml]\n",
			"components:\n    - ../a\n    - moult-opt-in\nresources: [widgets.yaml]\n",
		},
		"they are in brackets": {
			"components: [../a] # why\nresources: [widgets.yaml] # all\n",
			"components: [../a, moult-opt-in] # why\nresources: [widgets.yaml] # all\n",
		},
		"they are none": {
			"# ours\ncomponents:\nresources: [widgets.yaml]\n",
			"# ours\ncomponents:\n  - moult-opt-in\nresources: [widgets.yaml]\n",
		},
		"it is a document": {
			"---\nresources: [widgets.yaml]\n",
			"---\nresources: [widgets.yaml]\ncomponents:\n  - moult-opt-in\n",
		},
		"the lines end as on Windows": {
			"# ours\r\nresources:\r\n- widgets.yaml\r\n",
			"# ours\r\nresources:\r\n- widgets.yaml\r\ncomponents:\r\n  - moult-opt-in\r\n",
		},
		"and it is written anew": {
			"components: [../a]\r\nresources: [widgets.yaml]\r\n",
			"components: [../a, moult-opt-in]\r\nresources: [widgets.yaml]\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := widgets(t, c.before)
			g.Expect(os.MkdirAll("a", 0o750)).To(Succeed())
			g.Expect(os.WriteFile("a/kustomization.yaml", []byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {team: a}\n"), 0o600)).To(Succeed())
			out, errOut, code := optIn(t, "crds")
			g.Expect(code).To(Equal(cli.ExitDone), errOut)
			g.Expect(out).To(Equal("wrote crds/moult-opt-in/kustomization.yaml\nwrote crds/kustomization.yaml\nlabelled: widgets.example.com\n"))
			g.Expect(strings.ReplaceAll(clitest.Read(g, "crds/kustomization.yaml"), "-   ", "- ")).To(Equal(c.after))
			g.Expect(clitest.Read(g, "crds/moult-opt-in/kustomization.yaml")).To(Equal(string(optincomponent.Component)))

			checked := clitest.Moult{check.NewCommand}.Run(t, "check", "opt-in", "crds")
			g.Expect(checked.Code).To(Equal(cli.ExitDone))

			after := clitest.Read(g, "crds/kustomization.yaml")
			out, errOut, code = optIn(t, "crds/kustomization.yaml")
			g.Expect(code).To(Equal(cli.ExitDone), errOut)
			g.Expect(out).To(Equal("crds/kustomization.yaml sets the label already\nlabelled: widgets.example.com\n"))
			g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal(after), "once is enough")
		})
	}
}

// The next run would take a Component that is left behind for somebody else's.
func TestOptInLeavesNothingBehindWhenItFails(t *testing.T) {
	g := widgets(t, "resources: [widgets.yaml]\n")
	component := change{file: "crds/new/moult-opt-in/kustomization.yaml", new: []byte("x")}
	for name, refused := range map[string]change{
		"what is there cannot be written": {file: "crds", old: []byte("x"), new: []byte("y")},
		"what is new cannot be written":   {file: "crds/widgets.yaml/kustomization.yaml", new: []byte("y")},
	} {
		g.Expect(writeAll([]change{component, refused})).To(MatchError(ContainSubstring("cannot be written")), name)
		g.Expect("crds/new").NotTo(BeADirectory(), name)
	}
	kustomization := change{file: "crds/kustomization.yaml", old: []byte("resources: [widgets.yaml]\n"), new: []byte("y")}
	g.Expect(writeAll([]change{component, kustomization, {file: "crds/widgets.yaml/a", new: []byte("y")}})).NotTo(Succeed())
	g.Expect("crds/new").NotTo(BeADirectory())
	g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal("resources: [widgets.yaml]\n"), "it is as it was")
	g.Expect("crds").To(BeADirectory())
	g.Expect(writeAll([]change{component})).To(Succeed())
	g.Expect(clitest.Read(g, component.file)).To(Equal("x"))
}

func TestOptInRefusesASecondDocument(t *testing.T) {
	here, err := os.Getwd()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, before := range []string{
		"resources: [widgets.yaml]\n---\nkind: ConfigMap\nmetadata: {name: mine}\n",
		"components: []\nresources: [widgets.yaml]\n---\n# mine\n",
	} {
		t.Chdir(here)
		g := widgets(t, before)
		_, errOut, code := optIn(t, "crds")
		g.Expect(code).To(Equal(cli.ExitError), errOut)
		g.Expect(errOut).To(ContainSubstring("crds/kustomization.yaml holds more than one YAML document"))
		g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal(before))
		g.Expect("crds/moult-opt-in").NotTo(BeADirectory())
	}
}

func TestOptInShowsWhatItWouldDo(t *testing.T) {
	g := widgets(t, "resources:\n  - widgets.yaml\n")
	out, errOut, code := optIn(t, "crds", "--dry-run")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(out).To(ContainSubstring("--- /dev/null\n+++ crds/moult-opt-in/kustomization.yaml\n@@ -0,0 +1,27 @@\n+# Puts the label"))
	g.Expect(out).To(HaveSuffix("--- crds/kustomization.yaml\n+++ crds/kustomization.yaml\n@@ -1,2 +1,4 @@\n resources:\n   - widgets.yaml\n+components:\n+  - moult-opt-in\n"))
	g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal("resources:\n  - widgets.yaml\n"))
	g.Expect("crds/moult-opt-in").NotTo(BeAnExistingFile())
}

func TestOptInRefersToTheGivenPlace(t *testing.T) {
	g := widgets(t, "resources: [widgets.yaml]\n")
	_, errOut, code := optIn(t, "crds", "--folder", "shared/opt-in")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(ContainSubstring("\n  - ../shared/opt-in\n"))
	g.Expect("shared/opt-in/kustomization.yaml").To(BeAnExistingFile())

	g.Expect(os.WriteFile("crds/kustomization.yaml", []byte("resources: [widgets.yaml]\n"), 0o600)).To(Succeed())
	out, errOut, code := optIn(t, "crds", "--folder", "shared/opt-in")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(out).To(Equal("wrote crds/kustomization.yaml\nlabelled: widgets.example.com\n"), "the Component is there and is shared")

	g.Expect(os.WriteFile("crds/kustomization.yaml", []byte("resources: [widgets.yaml]\n"), 0o600)).To(Succeed())
	_, errOut, code = optIn(t, "crds", "--ref", "v0.1.0")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(ContainSubstring("\n  - https://github.com/moult-dev/moult//clusters/components/opt-in?ref=v0.1.0\n"))
	g.Expect("crds/moult-opt-in").NotTo(BeAnExistingFile())

	k, err := parseKustomization("", []byte(clitest.Read(g, "crds/kustomization.yaml")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.optsIn("crds", "moult.dev/migrate")).To(BeTrue(), "the remote Component is known by its address")
}

func TestOptInChoosesCRDs(t *testing.T) {
	g := widgets(t, "resources: [widgets.yaml]\n")
	_, errOut, code := optIn(t, "crds", "--crds", `gadgets\..*`)
	g.Expect(code).To(Equal(cli.ExitNotDone))
	g.Expect(errOut).To(ContainSubstring("crds builds no CRD that the Component matches, so nothing was written"))
	g.Expect("crds/moult-opt-in").NotTo(BeAnExistingFile())
	_, errOut, code = optIn(t, "crds", "--annotated", "team=a")
	g.Expect(code).To(Equal(cli.ExitNotDone), errOut)

	out, errOut, code := optIn(t, "crds", "--crds", `.*\.example\.com`, "--label-key", "widgets.example.com/migrate")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(out).To(HaveSuffix("labelled: widgets.example.com\n"))
	written := clitest.Read(g, "crds/moult-opt-in/kustomization.yaml")
	g.Expect(written).To(ContainSubstring("      name: .*\\.example\\.com\n"))
	g.Expect(written).To(HavePrefix(`# Puts the label widgets.example.com/migrate: "true" on`), "comments are kept")
	built, err := render.Folder("crds", render.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Objects[0].GetLabels()).To(Equal(map[string]string{"widgets.example.com/migrate": "true"}))
}

func TestOptInReportsFlagsThatItDidNotApply(t *testing.T) {
	const already = "crds/kustomization.yaml sets the label already\n"
	for name, c := range map[string]struct {
		with, args []string
		code       int
		out, says  string
	}{
		"a pattern that matches nothing":    {nil, []string{"--crds", "others.*"}, cli.ExitNotDone, "", "crds builds no CRD that --crds matches, so nothing was written; crds/kustomization.yaml sets the label already, on widgets.example.com, gadgets.example.com"},
		"annotations that nothing has":      {nil, []string{"--annotated", "team=a"}, cli.ExitNotDone, "", "no CRD that --annotated matches"},
		"a pattern that matches fewer":      {nil, []string{"--crds", "gadgets.*"}, cli.ExitDone, already + "not applied: --crds; take", ""},
		"a pattern that matches the others": {[]string{"--crds", "widgets.*"}, []string{"--crds", "gadgets.*"}, cli.ExitNotDone, "", "so --crds was not applied and nothing was written; gadgets.example.com does not carry the label"},
		"a pattern that matches the same":   {[]string{"--crds", "widgets.*"}, []string{"--crds", "widgets.*"}, cli.ExitDone, already + "labelled: widgets", ""},
		"another folder":                    {nil, []string{"--folder", "elsewhere"}, cli.ExitDone, already + "not applied: --folder; take", ""},
		"the same folder":                   {nil, []string{"--folder", "crds/moult-opt-in"}, cli.ExitDone, already + "labelled: ", ""},
		"a reference in place of a folder":  {nil, []string{"--ref", "v0.1.0"}, cli.ExitDone, already + "not applied: --ref; take", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := widgets(t, "resources: [widgets.yaml, gadgets.yaml]\n")
			g.Expect(os.WriteFile("crds/gadgets.yaml", []byte(strings.ReplaceAll(clitest.Read(g, "crds/widgets.yaml"), "widgets", "gadgets")), 0o600)).To(Succeed())
			_, errOut, code := optIn(t, append([]string{"crds"}, c.with...)...)
			g.Expect(code).To(Equal(cli.ExitDone), errOut)
			before := clitest.Read(g, "crds/kustomization.yaml")
			out, errOut, code := optIn(t, append([]string{"crds"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(out).To(HavePrefix(c.out))
			g.Expect(errOut).To(ContainSubstring(c.says))
			g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal(before))
			g.Expect("elsewhere").NotTo(BeADirectory())
		})
	}
}

func TestOptInLeavesOutWhatIsLeftOutOnPurpose(t *testing.T) {
	g := widgets(t, "resources: [widgets.yaml, gadgets.yaml]\n")
	gadgets := strings.NewReplacer("widgets.example.com", "gadgets.example.com\n  labels:\n    moult.dev/migrate: \"false\"").Replace(clitest.Read(g, "crds/widgets.yaml"))
	g.Expect(os.WriteFile("crds/gadgets.yaml", []byte(gadgets), 0o600)).To(Succeed())
	out, errOut, code := optIn(t, "crds")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(out).To(HaveSuffix("labelled: widgets.example.com\nnot labelled: gadgets.example.com\n"))
}

func TestOptInLeavesAKustomizationAloneThatSetsTheLabelItself(t *testing.T) {
	own := "resources: [widgets.yaml]\npatches:\n- target: {kind: CustomResourceDefinition}\n  path: label.yaml\n"
	g := widgets(t, own)
	g.Expect(os.WriteFile("crds/label.yaml", []byte("- op: add\n  path: /metadata/labels\n  value: {moult.dev/migrate: \"true\"}\n"), 0o600)).To(Succeed())
	out, errOut, code := optIn(t, "crds")
	g.Expect(code).To(Equal(cli.ExitDone), errOut)
	g.Expect(out).To(Equal("crds/kustomization.yaml sets the label already\nlabelled: widgets.example.com\n"))
	g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal(own))
}

func TestOptInRefuses(t *testing.T) {
	g := widgets(t, "resources: [widgets.yaml]\n")
	for name, content := range map[string]string{
		"taken/kustomization.yaml":     "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\n",
		"plain/widgets.yaml":           clitest.Read(g, "crds/widgets.yaml"),
		"broken/kustomization.yaml":    "resources: [missing.yaml]\n",
		"listed/kustomization.yaml":    "- resources\n",
		"component/kustomization.yaml": string(optincomponent.Component),
	} {
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no path":                      {nil, "name one PATH"},
		"two paths":                    {[]string{"crds", "plain"}, "name one PATH"},
		"no such path":                 {[]string{"nowhere"}, "nowhere: there is no such file or folder; name one"},
		"no kustomization":             {[]string{"plain"}, "there is no kustomization in plain; make one"},
		"a file that is none":          {[]string{"crds/widgets.yaml"}, "crds/widgets.yaml is not a kustomization"},
		"a component":                  {[]string{"component"}, "component is a Component"},
		"a list":                       {[]string{"listed"}, "listed/kustomization.yaml is not a kustomization"},
		"a build that fails":           {[]string{"broken"}, "broken cannot be built"},
		"a folder that is taken":       {[]string{"crds", "--folder", "taken"}, "taken/kustomization.yaml is there already and is not a Component that sets the label"},
		"a folder that chooses others": {[]string{"crds", "--folder", "component", "--crds", "x"}, "component/kustomization.yaml is there already and chooses other CRDs"},
		"a reference and a choice":     {[]string{"crds", "--ref", "v1", "--crds", "x"}, "--ref refers to the Component as it is"},
		"a pattern that is none":       {[]string{"crds", "--crds", "("}, "--crds is no regular expression"},
		"an unknown snippet":           {[]string{"--print", "helm"}, "--print helm is none of patch, component, argocd, flux"},
		"printing somewhere":           {[]string{"crds", "--print", "flux"}, "--print cannot be combined"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, errOut, code := optIn(t, c.args...)
			g.Expect(code).To(Equal(cli.ExitError), errOut)
			g.Expect(errOut).To(ContainSubstring(c.says))
		})
	}
	g.Expect(clitest.Read(g, "crds/kustomization.yaml")).To(Equal("resources: [widgets.yaml]\n"))
}

// Whatever is printed does in its place what the Component does.
func TestOptInPrintsWhatWorks(t *testing.T) {
	g := widgets(t, "resources: [widgets.yaml]\n")
	for name, fields := range map[string][]string{"patch": nil, "component": nil, "flux": {"spec"}, "argocd": {"spec"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out, errOut, code := optIn(t, "--print", name, "--crds", `widgets\..*`)
			g.Expect(code).To(Equal(cli.ExitDone), errOut)
			g.Expect(out).To(HavePrefix("# "))
			var o render.Options
			if fields == nil {
				var k types.Kustomization
				g.Expect(yaml.Unmarshal([]byte(out), &k)).To(Succeed())
				o.Patches = k.Patches
			} else {
				kind := map[string]string{"flux": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n", "argocd": "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"}[name]
				parsed, err := render.Stream(name, strings.NewReader(kind+out))
				g.Expect(err).NotTo(HaveOccurred())
				sources := delivery.SourcesOf(parsed.Objects[0])
				g.Expect(sources).To(HaveLen(1))
				o.Patches = sources[0].Patches
			}
			g.Expect(o.Patches).To(HaveLen(1))
			g.Expect(o.Patches[0].Target.Name).To(Equal(`widgets\..*`))
			built, err := render.Folder("crds", o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(built.Objects[0].GetLabels()).To(HaveKeyWithValue("moult.dev/migrate", "true"))
		})
	}
	out, _, _ := optIn(t, "--print", "component")
	g.Expect(out).To(Equal(string(optincomponent.Component)))
}
