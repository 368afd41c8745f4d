package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// widgetsV1 is a CRD that has only v1 left.
const widgetsV1 = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`

const rose = "# ours\napiVersion: example.com/v1alpha1\nkind: Widget\nmetadata:\n    name:   rose\nspec: {size: 3}\n"

// alone runs one subcommand.
func alone(t *testing.T, newCommand func(*app) *cobra.Command, args ...string) answer {
	t.Helper()
	return piped(t, newCommand, "", args...)
}

// piped runs one subcommand with something on standard input.
func piped(t *testing.T, newCommand func(*app) *cobra.Command, stdin string, args ...string) answer {
	t.Helper()
	var out, errOut strings.Builder
	a := &app{name: "moult", labelKey: v1alpha1.MigrateLabel, out: &out, errOut: &errOut}
	c := newCommand(a)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	code := a.exit(t.Context(), c.ExecuteContext(t.Context()))
	return answer{code, out.String(), errOut.String()}
}

// inRepository writes files into a new folder, and goes there.
func inRepository(t *testing.T, files map[string]string) *WithT {
	t.Helper()
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	for name, content := range files {
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	return g
}

func TestRewriteTurnsFilesToTheStorageVersion(t *testing.T) {
	g := inRepository(t, map[string]string{"crds/widgets.yaml": widgetsV1, "apps/rose.yaml": rose, "apps/readme.md": rose, "apps/.git/rose.yaml": rose})
	g.Expect(os.Chmod("apps/rose.yaml", 0o640)).To(Succeed())
	turned := strings.ReplaceAll(rose, "v1alpha1", "v1")

	got := alone(t, newRewriteCommand, "apps", "--crds", "crds", "--dry-run")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(Equal("--- apps/rose.yaml\n+++ apps/rose.yaml\n@@ -1,5 +1,5 @@\n # ours\n-apiVersion: example.com/v1alpha1\n+apiVersion: example.com/v1\n kind: Widget\n metadata:\n     name:   rose\n" +
		"apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place to change, 0 left for a person\n"))
	g.Expect(read(g, "apps/rose.yaml")).To(Equal(rose), "a dry run writes nothing")

	got = alone(t, newRewriteCommand, "apps", "apps/rose.yaml", "./apps", "--crds", "crds/widgets.yaml")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(Equal("apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place changed, 0 left for a person\n"))
	g.Expect(read(g, "apps/rose.yaml")).To(Equal(turned))
	g.Expect(read(g, "apps/readme.md")).To(Equal(rose))
	g.Expect(read(g, "apps/.git/rose.yaml")).To(Equal(rose))
	info, err := os.Stat("apps/rose.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o640))
	left, err := os.ReadDir("apps")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(3), "nothing of the writing is left behind")

	got = alone(t, newRewriteCommand, "apps", "--crds", "crds")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(Equal("0 places changed, 0 left for a person\n"), "once is enough")
}

func TestRewriteListsWhatAPersonHasToDo(t *testing.T) {
	g := inRepository(t, map[string]string{
		"crds/widgets.yaml": widgetsV1, "apps/rose.yaml": rose, "apps/oak.yaml": strings.ReplaceAll(rose, "size", "leaves"),
		"chart/templates/rose.yaml": "{{ if .x }}\n" + rose + "{{ end }}\n",
	})
	got := alone(t, newRewriteCommand, ".", "--crds", "crds")
	g.Expect(got.code).To(Equal(exitNotDone))
	g.Expect(got.out).To(Equal(`apps/rose.yaml:2: Widget rose: v1alpha1 -> v1
apps/oak.yaml:2: Widget rose stays at v1alpha1
         v1 does not know spec.leaves, and would drop it without a word
chart/templates/rose.yaml:3: Widget rose (template) stays at v1alpha1
         a template; change it by hand, and look at the fields it sets
1 place changed, 2 left for a person
`))
	g.Expect(got.errOut).To(Equal("moult: 2 places left for a person; which and why is above\n"))

	got = alone(t, newRewriteCommand, ".", "--crds", "crds", "--dry-run", "-o", "json")
	g.Expect(got.code).To(Equal(exitNotDone))
	var report rewritten
	g.Expect(json.Unmarshal([]byte(got.out), &report)).To(Succeed())
	g.Expect(report.DryRun).To(BeTrue())
	g.Expect(report.Changed).To(BeEmpty())
	g.Expect(report.Left).To(HaveLen(2))
	g.Expect(report.Left[0].File).To(Equal("apps/oak.yaml"))
	g.Expect(report.Left[0].Line).To(Equal(2))
	g.Expect(report.Left[0].To).To(Equal("v1"))
}

func TestRewriteLeavesVersionsThatAreAskedFor(t *testing.T) {
	both := strings.ReplaceAll(widgetsV1, "versions:\n", "versions:\n    - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n")
	g := inRepository(t, map[string]string{"crds/widgets.yaml": both, "apps/rose.yaml": rose})
	got := alone(t, newRewriteCommand, "apps", "--crds", "crds")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(Equal("0 places changed, 0 left for a person\n"+
		"1 manifest is at v1alpha1, which is served and not deprecated: --from v1alpha1 turns it, too\n"), "nobody has said that it is to go")
	g.Expect(read(g, "apps/rose.yaml")).To(Equal(rose))
	got = alone(t, newRewriteCommand, "apps", "--crds", "crds", "-o", "json")
	var report rewritten
	g.Expect(json.Unmarshal([]byte(got.out), &report)).To(Succeed())
	g.Expect(report.Kept).To(HaveLen(1))
	g.Expect(report.Kept[0]).To(And(HaveField("Version", "v1alpha1"), HaveField("To", "v1"), HaveField("Place.File", "apps/rose.yaml")))

	got = alone(t, newRewriteCommand, "apps", "--crds", "crds", "--crd", "widgets.example.com", "--from", "v1alpha1")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(read(g, "apps/rose.yaml")).To(ContainSubstring("example.com/v1\n"))
}

func TestRewriteStaysInsideOfWhatItIsGiven(t *testing.T) {
	g := inRepository(t, map[string]string{"crds/widgets.yaml": widgetsV1, "outside/rose.yaml": rose, "inside/oak.yaml": rose})
	g.Expect(os.Symlink("../outside", "inside/folder")).To(Succeed())
	g.Expect(os.Symlink("../outside/rose.yaml", "inside/rose.yaml")).To(Succeed())
	g.Expect(os.Symlink("inside", "link")).To(Succeed())
	got := alone(t, newRewriteCommand, "link", "--crds", "crds")
	g.Expect(got.code).To(Equal(exitNotDone), got.errOut)
	g.Expect(got.out).To(Equal(`inside/oak.yaml:2: Widget rose: v1alpha1 -> v1
outside/rose.yaml:2: Widget rose stays at v1alpha1
         it lies outside of what was named, and inside/folder leads to it; name it, too
1 place changed, 1 left for a person
`))
	g.Expect(read(g, "outside/rose.yaml")).To(Equal(rose))
	g.Expect(got.errOut).To(Equal(`link is a symbolic link to inside, which is what is looked at
inside/folder is a symbolic link to outside, outside of what was named, and is left out; name that, too, if it is to be changed
inside/rose.yaml is a symbolic link to outside/rose.yaml, outside of what was named, and is left out; name that, too, if it is to be changed
moult: 1 place left for a person; which and why is above
`))

	got = alone(t, newRewriteCommand, ".", "--crds", "crds", "--dry-run")
	g.Expect(got.errOut).To(BeEmpty(), "what all links lead to is inside")
	g.Expect(got.out).To(HaveSuffix("outside/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place to change, 0 left for a person\n"))
}

// A link that leads out is told, and is no reason to fail when what it leads to is migrated already.
func TestRewriteIsDoneWhenNothingOldLiesOutside(t *testing.T) {
	g := inRepository(t, map[string]string{"crds/widgets.yaml": widgetsV1, "outside/rose.yaml": strings.ReplaceAll(rose, "v1alpha1", "v1"), "inside/a.txt": ""})
	g.Expect(os.Symlink("../outside/rose.yaml", "inside/rose.yaml")).To(Succeed())
	got := alone(t, newRewriteCommand, "inside", "--crds", "crds")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.errOut).To(ContainSubstring("is left out"))
}

// To open a named pipe would be to wait for good.
func TestRewriteDoesNotWaitForPipes(t *testing.T) {
	g := inRepository(t, map[string]string{"crds/widgets.yaml": widgetsV1, "apps/rose.yaml": rose, "pipes/crds/widgets.yaml": widgetsV1})
	g.Expect(syscall.Mkfifo("apps/pipe.yaml", 0o600)).To(Succeed())
	g.Expect(syscall.Mkfifo("pipes/crds/pipe.yaml", 0o600)).To(Succeed())
	for _, args := range [][]string{{"apps/pipe.yaml", "--crds", "crds"}, {"apps/rose.yaml", "--crds", "pipes/crds"}} {
		got := alone(t, newRewriteCommand, args...)
		g.Expect(got.code).To(Equal(exitError), args)
		g.Expect(got.errOut).To(And(ContainSubstring("pipe.yaml is "), MatchRegexp("a named pipe|neither a file nor a folder")), args)
		g.Expect(read(g, "apps/rose.yaml")).To(Equal(rose))
	}
	got := alone(t, newRewriteCommand, "apps", "--crds", "crds")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(Equal("apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place changed, 0 left for a person\n"))
}

func TestRewriteTakesCRDsFromStandardInput(t *testing.T) {
	g := inRepository(t, map[string]string{"apps/rose.yaml": rose})
	got := piped(t, newRewriteCommand, widgetsV1, "apps", "--crds", "-")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(read(g, "apps/rose.yaml")).To(ContainSubstring("example.com/v1\n"))
}

// A version that is gone is left anyway, so naming it is no mistake.
func TestRewriteTakesAVersionThatOnlyManifestsHave(t *testing.T) {
	g := inRepository(t, map[string]string{"crds/widgets.yaml": widgetsV1, "apps/rose.yaml": rose})
	got := alone(t, newRewriteCommand, "apps", "--crds", "crds", "--from", "v1alpha1")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(read(g, "apps/rose.yaml")).To(ContainSubstring("example.com/v1\n"))
}

func TestRewriteTakesCRDsOfAnotherCommit(t *testing.T) {
	g := inRepository(t, map[string]string{"crds/widgets.yaml": widgetsV1, "apps/rose.yaml": rose})
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "all"}} {
		output, err := exec.Command("git", args...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
	}
	g.Expect(os.RemoveAll("crds")).To(Succeed())
	got := alone(t, newRewriteCommand, ".", "--crds", "git:HEAD:crds")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(HaveSuffix("1 place changed, 0 left for a person\n"))
}

func TestRewriteRefuses(t *testing.T) {
	g := inRepository(t, map[string]string{
		"crds/widgets.yaml": widgetsV1, "apps/rose.yaml": rose, "empty/rose.yaml": rose,
		"old/widgets.yaml":     strings.ReplaceAll(widgetsV1, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"),
		"storage/widgets.yaml": strings.ReplaceAll(widgetsV1, "storage: true", "storage: false"),
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
		"from the storage version":   {[]string{"apps", "--crds", "crds", "--from", "v1"}, "widgets.example.com stores at v1, so nothing can be turned from it"},
		"no such path":               {[]string{"nowhere", "--crds", "crds"}, "nowhere: there is no such file or folder; name one that holds manifests"},
		"a format that is not known": {[]string{"apps", "--crds", "crds", "-o", "xml"}, "-o xml is none of json, yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := alone(t, newRewriteCommand, c.args...)
			g.Expect(got.code).To(Equal(exitError), got.errOut)
			g.Expect(got.errOut).To(ContainSubstring(c.says))
		})
	}
	g.Expect(read(g, "apps/rose.yaml")).To(Equal(rose))
}
