package rewrite

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

var moult = clitest.Moult{NewCommand}

func run(t *testing.T, args ...string) clitest.Answer {
	t.Helper()
	return moult.Run(t, append([]string{"rewrite"}, args...)...)
}

func TestRewriteTurnsFilesToTheStorageVersion(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose, "apps/readme.md": clitest.Rose, "apps/.git/rose.yaml": clitest.Rose})
	g.Expect(os.Chmod("apps/rose.yaml", 0o640)).To(Succeed())
	turned := strings.ReplaceAll(clitest.Rose, "v1alpha1", "v1")

	got := run(t, "apps", "--crds", "crds", "--dry-run")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(Equal("--- apps/rose.yaml\n+++ apps/rose.yaml\n@@ -1,5 +1,5 @@\n # ours\n-apiVersion: example.com/v1alpha1\n+apiVersion: example.com/v1\n kind: Widget\n metadata:\n     name:   rose\n" +
		"apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place to change, 0 left for a person\n"))
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(Equal(clitest.Rose), "a dry run writes nothing")

	got = run(t, "apps", "apps/rose.yaml", "./apps", "--crds", "crds/widgets.yaml")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(Equal("apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place changed, 0 left for a person\n"))
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(Equal(turned))
	g.Expect(clitest.Read(g, "apps/readme.md")).To(Equal(clitest.Rose))
	g.Expect(clitest.Read(g, "apps/.git/rose.yaml")).To(Equal(clitest.Rose))
	info, err := os.Stat("apps/rose.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o640))
	left, err := os.ReadDir("apps")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(3), "nothing of the writing is left behind")

	got = run(t, "apps", "--crds", "crds")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(Equal("0 places changed, 0 left for a person\n"), "once is enough")
}

func TestRewriteListsWhatAPersonHasToDo(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"crds/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose, "apps/oak.yaml": strings.ReplaceAll(clitest.Rose, "size", "leaves"),
		"chart/templates/rose.yaml": "{{ if .x }}\n" + clitest.Rose + "{{ end }}\n",
	})
	got := run(t, ".", "--crds", "crds")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone))
	g.Expect(got.Out).To(Equal(`apps/rose.yaml:2: Widget rose: v1alpha1 -> v1
apps/oak.yaml:2: Widget rose stays at v1alpha1
         v1 does not know spec.leaves, and would drop it without a word
chart/templates/rose.yaml:3: Widget rose (template) stays at v1alpha1
         a template; change it by hand, and look at the fields it sets
1 place changed, 2 left for a person
`))
	g.Expect(got.ErrOut).To(Equal("moult: 2 places left for a person; which and why is above\n"))

	got = run(t, ".", "--crds", "crds", "--dry-run", "-o", "json")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone))
	var report rewritten
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	g.Expect(report.DryRun).To(BeTrue())
	g.Expect(report.Changed).To(BeEmpty())
	g.Expect(report.Left).To(HaveLen(2))
	g.Expect(report.Left[0].File).To(Equal("apps/oak.yaml"))
	g.Expect(report.Left[0].Line).To(Equal(2))
	g.Expect(report.Left[0].To).To(Equal("v1"))
}

func TestRewriteLeavesVersionsThatAreAskedFor(t *testing.T) {
	both := strings.ReplaceAll(clitest.Widgets, "versions:\n", "versions:\n    - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n")
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": both, "apps/rose.yaml": clitest.Rose})
	got := run(t, "apps", "--crds", "crds")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(Equal("0 places changed, 0 left for a person\n"+
		"1 manifest is at v1alpha1, which is served and not deprecated: --from v1alpha1 converts it, too\n"), "nobody has said that it is to go")
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(Equal(clitest.Rose))
	got = run(t, "apps", "--crds", "crds", "-o", "json")
	var report rewritten
	g.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	g.Expect(report.Kept).To(HaveLen(1))
	g.Expect(report.Kept[0]).To(And(HaveField("Version", "v1alpha1"), HaveField("To", "v1"), HaveField("Place.File", "apps/rose.yaml")))

	got = run(t, "apps", "--crds", "crds", "--crd", "widgets.example.com", "--from", "v1alpha1")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(ContainSubstring("example.com/v1\n"))
}

func TestRewriteStaysInsideOfWhatItIsGiven(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": clitest.Widgets, "outside/rose.yaml": clitest.Rose, "inside/oak.yaml": clitest.Rose})
	g.Expect(os.Symlink("../outside", "inside/folder")).To(Succeed())
	g.Expect(os.Symlink("../outside/rose.yaml", "inside/rose.yaml")).To(Succeed())
	g.Expect(os.Symlink("inside", "link")).To(Succeed())
	got := run(t, "link", "--crds", "crds")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	g.Expect(got.Out).To(Equal(`inside/oak.yaml:2: Widget rose: v1alpha1 -> v1
outside/rose.yaml:2: Widget rose stays at v1alpha1
         it is outside of the given paths (inside/folder is a symbolic link to it); add it to the
         paths
1 place changed, 1 left for a person
`))
	g.Expect(clitest.Read(g, "outside/rose.yaml")).To(Equal(clitest.Rose))
	g.Expect(got.ErrOut).To(Equal(`link is a symbolic link to inside, which is what is looked at
inside/folder is a symbolic link to outside, outside of what was named, and is left out; name that, too, if it is to be changed
inside/rose.yaml is a symbolic link to outside/rose.yaml, outside of what was named, and is left out; name that, too, if it is to be changed
moult: 1 place left for a person; which and why is above
`))

	got = run(t, ".", "--crds", "crds", "--dry-run")
	g.Expect(got.ErrOut).To(BeEmpty(), "what all links lead to is inside")
	g.Expect(got.Out).To(HaveSuffix("outside/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place to change, 0 left for a person\n"))
}

// A link that leads out is reported, and is no reason to fail when what it leads to is migrated already.
func TestRewriteIsDoneWhenNothingOldLiesOutside(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": clitest.Widgets, "outside/rose.yaml": strings.ReplaceAll(clitest.Rose, "v1alpha1", "v1"), "inside/a.txt": ""})
	g.Expect(os.Symlink("../outside/rose.yaml", "inside/rose.yaml")).To(Succeed())
	got := run(t, "inside", "--crds", "crds")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.ErrOut).To(ContainSubstring("is left out"))
}

// To open a named pipe would be to wait for good.
func TestRewriteDoesNotWaitForPipes(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose, "pipes/crds/widgets.yaml": clitest.Widgets})
	g.Expect(syscall.Mkfifo("apps/pipe.yaml", 0o600)).To(Succeed())
	g.Expect(syscall.Mkfifo("pipes/crds/pipe.yaml", 0o600)).To(Succeed())
	for _, args := range [][]string{{"apps/pipe.yaml", "--crds", "crds"}, {"apps/rose.yaml", "--crds", "pipes/crds"}} {
		got := run(t, args...)
		g.Expect(got.Code).To(Equal(cli.ExitError), args)
		g.Expect(got.ErrOut).To(And(ContainSubstring("pipe.yaml is "), MatchRegexp("a named pipe|neither a file nor a folder")), args)
		g.Expect(clitest.Read(g, "apps/rose.yaml")).To(Equal(clitest.Rose))
	}
	got := run(t, "apps", "--crds", "crds")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(Equal("apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place changed, 0 left for a person\n"))
}

func TestRewriteTakesCRDsFromStandardInput(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"apps/rose.yaml": clitest.Rose})
	got := moult.Piped(t, clitest.Widgets, "rewrite", "apps", "--crds", "-")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(ContainSubstring("example.com/v1\n"))
}

// A version that is removed is left anyway, so naming it is no mistake.
func TestRewriteTakesAVersionThatOnlyManifestsHave(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose})
	got := run(t, "apps", "--crds", "crds", "--from", "v1alpha1")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(ContainSubstring("example.com/v1\n"))
}

func TestRewriteTakesCRDsOfAnotherCommit(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"crds/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose})
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "all"}} {
		output, err := exec.Command("git", args...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
	}
	g.Expect(os.RemoveAll("crds")).To(Succeed())
	got := run(t, ".", "--crds", "git:HEAD:crds")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(HaveSuffix("1 place changed, 0 left for a person\n"))
}

func TestRewriteRefuses(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"crds/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose, "empty/rose.yaml": clitest.Rose,
		"old/widgets.yaml":     strings.ReplaceAll(clitest.Widgets, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"),
		"storage/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "storage: true", "storage: false"),
	})
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no path":                    {nil, "name at least one PATH"},
		"no CRDs":                    {[]string{"apps"}, "name the place of the CRDs with --crds"},
		"a version that nothing has": {[]string{"apps", "--crds", "crds", "--from", "v9"}, "--from v9: no CRD has this version, and no manifest is written at it, so nothing was changed; widgets.example.com has v1"},
		"standard input to rewrite":  {[]string{"-", "--crds", "crds"}, "- is not a path; manifests are changed where they lie"},
		"no such place of CRDs":      {[]string{"apps", "--crds", "nowhere"}, "nowhere: there is no such file or folder"},
		"no CRD there":               {[]string{"apps", "--crds", "empty"}, "there is no CustomResourceDefinition in empty"},
		"not that CRD":               {[]string{"apps", "--crds", "crds", "--crd", "gadgets.example.com"}, "there is no gadgets.example.com in crds"},
		"a CRD of long ago":          {[]string{"apps", "--crds", "old"}, "--crds: widgets.yaml:1: CustomResourceDefinition widgets.example.com is written as apiextensions.k8s.io/v1beta1"},
		"no storage version":         {[]string{"apps", "--crds", "storage"}, "widgets.example.com: spec.versions: none of v1 has storage: true"},
		"from the storage version":   {[]string{"apps", "--crds", "crds", "--from", "v1"}, "widgets.example.com stores at v1, so nothing can be converted from it"},
		"no such path":               {[]string{"nowhere", "--crds", "crds"}, "nowhere: there is no such file or folder; name one that holds manifests"},
		"a format that is not known": {[]string{"apps", "--crds", "crds", "-o", "xml"}, "-o xml is none of json, yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := run(t, c.args...)
			g.Expect(got.Code).To(Equal(cli.ExitError), got.ErrOut)
			g.Expect(got.ErrOut).To(ContainSubstring(c.says))
		})
	}
	g.Expect(clitest.Read(g, "apps/rose.yaml")).To(Equal(clitest.Rose))
}
