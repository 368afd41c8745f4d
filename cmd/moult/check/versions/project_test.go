package versions

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// moult has the command where people find it.
var moult = clitest.Moult{func(f *cli.Factory) *cobra.Command {
	check := &cobra.Command{Use: "check"}
	check.AddCommand(NewCommand(f))
	return check
}}

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		_ = os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// project is a Git repository in the working directory.
type project struct {
	*WithT
	t *testing.T
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{clitest.InRepository(t, nil), t}
	p.git("", "init", "-q", "-b", "main")
	return p
}

// git runs a command of Git, at a day.
func (p project) git(day string, args ...string) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), "git", args...)
	command.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+day+"T12:00:00Z", "GIT_AUTHOR_DATE="+day+"T12:00:00Z")
	if day == "" {
		command.Env = os.Environ()
	}
	said, err := command.CombinedOutput()
	p.Expect(err).NotTo(HaveOccurred(), "git %v: %s", args, said)
}

// write puts files into the work tree; empty ones go.
func (p project) write(files map[string]string) {
	p.t.Helper()
	for name, content := range files {
		if content == "" {
			p.Expect(os.RemoveAll(name)).To(Succeed())
			continue
		}
		p.Expect(os.MkdirAll(filepath.Dir(name), 0o750)).To(Succeed())
		p.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
}

// release commits files and tags them.
func (p project) release(tag, day string, files map[string]string) {
	p.t.Helper()
	p.write(files)
	p.git(day, "add", "-A")
	p.git(day, "commit", "-q", "--allow-empty", "-m", tag)
	p.git(day, "tag", "-a", tag, "-m", tag)
}

func (p project) run(args ...string) clitest.Answer {
	p.t.Helper()
	return moult.Run(p.t, append([]string{"check", "versions"}, args...)...)
}

// crd is a CRD with versions as in "v1alpha1 served", each with its properties of spec.
func crd(versions ...string) string {
	var b strings.Builder
	b.WriteString(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
`)
	for _, v := range versions {
		name, rest, _ := strings.Cut(v, " ")
		how, properties, _ := strings.Cut(rest, " ")
		b.WriteString("  - {name: " + name + ", served: " + yes(strings.Contains(how, "served")) + ", storage: " + yes(strings.Contains(how, "stored")) + ", deprecated: " + yes(strings.Contains(how, "deprecated")) +
			", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + properties + "}}}}}}\n")
	}
	return b.String()
}

func yes(is bool) string {
	if is {
		return "true"
	}
	return "false"
}

const bases = "config/crd/bases/widgets.yaml"
