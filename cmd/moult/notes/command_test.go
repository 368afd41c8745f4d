package notes

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/releasenotes"
)

// writeNotes runs the command, with something on standard input.
func writeNotes(t *testing.T, stdin string, args ...string) (out string, err error) {
	t.Helper()
	got := clitest.Moult{NewCommand}.Piped(t, stdin, append([]string{"notes"}, args...)...)
	if got.Code != cli.ExitDone {
		return got.Out, errors.New(got.ErrOut)
	}
	return got.Out, nil
}

// changed is a folder of policies/crddiff with two states of a CRD.
const changed = "../../../policies/crddiff/testdata/"

func TestNotesOfTwoReleases(t *testing.T) {
	for _, name := range []string{"the-storage-version-flips", "an-unserved-version-is-removed", "the-storage-version-flips-and-the-old-one-is-removed", "fields-are-added"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			want, err := os.ReadFile(filepath.Join(changed, name, "notes.md"))
			g.Expect(err).NotTo(HaveOccurred())
			base, head := filepath.Join(changed, name, "base.yaml"), filepath.Join(changed, name, "head.yaml")
			out, err := writeNotes(t, "", "--base", base, "--head", head)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(Equal(strings.NewReplacer("git:v1:crds", base, "git:v2:crds", head).Replace(string(want))))
		})
	}
}

func TestNotesForPrograms(t *testing.T) {
	g := NewWithT(t)
	name := "fields-are-added"
	head, err := os.ReadFile(filepath.Join(changed, name, "head.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	out, err := writeNotes(t, string(head), "--base", filepath.Join(changed, name, "base.yaml"), "--head", "-", "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	var n releasenotes.Notes
	g.Expect(json.Unmarshal([]byte(out), &n)).To(Succeed())
	g.Expect(n.Kind).To(Equal("ReleaseNotes"))
	g.Expect(n.Head).To(Equal("-"))
	g.Expect(n.CRDs[0].Versions[0].Added).To(ConsistOf(HaveField("Field", "spec.colour"), HaveField("Field", "spec.engine")))
}

func TestNotesOfAFolderAndARevision(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		c := exec.CommandContext(context.Background(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		out, err := c.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	git("init", "-q")
	g.Expect(os.MkdirAll("crds", 0o750)).To(Succeed())
	g.Expect(os.WriteFile("crds/widgets.yaml", []byte(twoVersions("v1alpha1")), 0o600)).To(Succeed())
	git("add", ".")
	git("commit", "-q", "-m", "first")
	g.Expect(os.WriteFile("crds/widgets.yaml", []byte(twoVersions("v1")), 0o600)).To(Succeed())
	out, err := writeNotes(t, "", "--base", "git:HEAD:crds", "--head", "crds")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("This release stores objects at `v1`."))
}

// twoVersions is a CRD that stores at one of them.
func twoVersions(stored string) string {
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1alpha1, served: true, storage: STORED-v1alpha1, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: STORED-v1, schema: {openAPIV3Schema: {type: object}}}
`
	for _, name := range []string{"v1alpha1", "v1"} {
		value := "false"
		if name == stored {
			value = "true"
		}
		text = strings.ReplaceAll(text, "STORED-"+name+",", value+",")
	}
	return text
}

func TestNotesKnowWhenTheyCannotBeWritten(t *testing.T) {
	file := func(t *testing.T, content string) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "crds.yaml")
		NewWithT(t).Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
		return name
	}
	good, empty := file(t, twoVersions("v1")), file(t, "kind: ConfigMap\napiVersion: v1\nmetadata: {name: none}\n")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no base":                  {[]string{"--head", good}, "name the release before with --base"},
		"no head":                  {[]string{"--base", good}, "name the new release with --head"},
		"standard input twice":     {[]string{"--base", "-", "--head", "-"}, "only one of --base and --head can be standard input"},
		"another format":           {[]string{"--base", good, "--head", good, "-o", "xml"}, "-o xml is none of markdown, json"},
		"an argument":              {[]string{"--base", good, "--head", good, "crds"}, `takes no argument, but was given "crds"`},
		"no such file":             {[]string{"--base", "nowhere.yaml", "--head", good}, "--base: nowhere.yaml: there is no such file or folder"},
		"no CRD at all":            {[]string{"--base", empty, "--head", empty}, "there is no CustomResourceDefinition in"},
		"a CRD without storage":    {[]string{"--base", good, "--head", file(t, twoVersions("v2"))}, "--head: crds.yaml:1: CustomResourceDefinition widgets.example.com: spec.versions: none of v1alpha1, v1 has storage: true"},
		"a CRD of an older API":    {[]string{"--base", file(t, strings.Replace(twoVersions("v1"), "k8s.io/v1", "k8s.io/v1beta1", 1)), "--head", good}, "is written as apiextensions.k8s.io/v1beta1"},
		"a file that is no YAML":   {[]string{"--base", good, "--head", file(t, "kind: {")}, "is neither YAML nor JSON"},
		"a revision of no meaning": {[]string{"--base", "git:nothing:crds", "--head", good}, "--base: git:nothing:crds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := writeNotes(t, "", c.args...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestNotesOfAFirstRelease(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	empty := filepath.Join(dir, "before.yaml")
	g.Expect(os.WriteFile(empty, []byte("kind: ConfigMap\napiVersion: v1\nmetadata: {name: none}\n"), 0o600)).To(Succeed())
	out, err := writeNotes(t, twoVersions("v1"), "--base", empty, "--head", "-")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("### Widget (`widgets.example.com`)\n\nIt is new.\n"))
}
