package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/reference"
)

// run executes a command line.
func run(t *testing.T, name string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr strings.Builder
	f := &cli.Factory{Name: name, Out: &stdout, ErrOut: &stderr}
	code = f.Run(t.Context(), newRoot(f), args)
	return code, stdout.String(), stderr.String()
}

func TestWhatIsNoCommandIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"the command is unknown":      {[]string{"stauts"}, "unknown command \"stauts\" for moult. Did you mean status? See moult --help", cli.ExitError},
		"there is no such check":      {[]string{"check", "flux"}, `unknown command "flux" for moult check; see moult check --help`, cli.ExitError},
		"nothing to check is named":   {[]string{"check"}, "moult check needs a subcommand: argocd", cli.ExitError},
		"the shell is unknown":        {[]string{"completion", "tcsh"}, `unknown command "tcsh" for moult completion`, cli.ExitError},
		"the file is missing":         {[]string{"check", "argocd", "--file", "/nowhere"}, "--file /nowhere cannot be read", cli.ExitError},
		"the file holds no argocd-cm": {[]string{"check", "argocd", "--file", "/dev/null"}, "give it the output of `kustomize build`", cli.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := run(t, "moult", c.args...)
			g.Expect(errOut).To(HavePrefix("moult: "))
			g.Expect(errOut).To(ContainSubstring(c.want))
			g.Expect(strings.Count(errOut, "\n")).To(Equal(1), "errors are one line")
			g.Expect(out).To(BeEmpty())
			g.Expect(code).To(Equal(c.code))
		})
	}
}

func TestAContextThatIsNoneIsAnsweredWithThoseThatAre(t *testing.T) {
	g := NewWithT(t)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	g.Expect(os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\ncontexts: [{name: staging, context: {}}, {name: production, context: {}}]\n"), 0o600)).To(Succeed())
	for _, command := range [][]string{{"status"}, {"snapshot"}} {
		code, _, errOut := run(t, "moult", append(command, "--kubeconfig", kubeconfig, "--context", "moon")...)
		g.Expect(code).To(Equal(cli.ExitError))
		g.Expect(errOut).To(ContainSubstring(`context "moon" does not exist; the kubeconfig has production, staging`))
	}
}

func TestThePluginCallsItselfAsItsUserDoes(t *testing.T) {
	g := NewWithT(t)
	for program, want := range map[string]string{
		"/usr/local/bin/moult": "moult", "./kubectl-moult": "kubectl moult", "kubectl-moult.exe": "kubectl moult", "moult.test": "moult",
	} {
		g.Expect(nameFrom(program)).To(Equal(want))
	}
	_, out, _ := run(t, "kubectl moult", "status", "--help")
	g.Expect(out).To(And(ContainSubstring("  kubectl moult status [CRD...]"), ContainSubstring("\n  kubectl moult status --watch")))
	_, out, _ = run(t, "kubectl moult", "rewrite", "--help")
	g.Expect(out).To(ContainSubstring("\n  helm template widgets ./chart --include-crds | kubectl moult rewrite apps --crds -\n"))
	_, out, _ = run(t, "kubectl moult", "snapshot", "--help")
	g.Expect(out).To(ContainSubstring("that moult preview looks at"), "a word in a comment stays")
}

// What stands in an example is pasted: a prompt would be a command that is not found.
func TestExamplesCanBePasted(t *testing.T) {
	g := NewWithT(t)
	var walk func(c *cobra.Command)
	seen := 0
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			seen++
			g.Expect(line).To(Or(HavePrefix("  "), Equal("\n")), c.CommandPath())
			g.Expect(strings.TrimSpace(line)).NotTo(HavePrefix("$"), c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRoot(&cli.Factory{Name: "moult"}))
	g.Expect(seen).To(BeNumerically(">", 50))
}

func TestTheReferenceHasEveryCommand(t *testing.T) {
	g := NewWithT(t)
	table, err := reference.Table("Commands")
	g.Expect(err).NotTo(HaveOccurred())
	inTable := map[string]string{}
	for name, row := range table {
		inTable[name] = row[0]
	}
	commands := map[string]string{}
	for _, c := range leaves(newRoot(&cli.Factory{Name: "moult"})) {
		commands[c.CommandPath()] = c.Short
	}
	g.Expect(inTable).To(Equal(commands))
}

// leaves are the commands that do something themselves, but for help and completion.
func leaves(c *cobra.Command) []*cobra.Command {
	if c.Name() == "help" || c.Name() == "completion" || c.IsAdditionalHelpTopicCommand() {
		return nil
	}
	var all []*cobra.Command
	if !c.HasSubCommands() || c.HasExample() {
		all = append(all, c)
	}
	for _, sub := range c.Commands() {
		all = append(all, leaves(sub)...)
	}
	return all
}
