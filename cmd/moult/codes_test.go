package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// runnable are all commands that a person can run, with those that only have subcommands.
func runnable(c *cobra.Command) (all []*cobra.Command) {
	if c.Runnable() {
		all = append(all, c)
	}
	for _, sub := range c.Commands() {
		all = append(all, runnable(sub)...)
	}
	return all
}

// A pipeline must not take its own mistake for an answer, whichever command it runs.
func TestAMistakeIsAnErrorForEveryCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", os.DevNull)
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	seen := 0
	for _, c := range runnable(newRoot(&cli.Factory{Name: "moult"})) {
		path := strings.Fields(c.CommandPath())[1:]
		for name, mistake := range map[string][]string{
			"a flag":        {"--no-such-flag"},
			"an argument":   {"!!", "!!", "!!"},
			"-o":            {"-o", "nonsense"},
			"the label key": {"--label-key", "!!"},
		} {
			if name == "-o" && c.Flags().Lookup("output") == nil {
				continue
			}
			seen++
			t.Run(c.CommandPath()+", "+name, func(t *testing.T) {
				g := NewWithT(t)
				code, out, errOut := run(t, "moult", append(path, mistake...)...)
				g.Expect(code).To(Equal(cli.ExitError), out+errOut)
				g.Expect(errOut).To(HavePrefix("moult: "))
				g.Expect(strings.Count(errOut, "\n")).To(Equal(1), errOut)
				g.Expect(out).To(BeEmpty())
			})
		}
	}
	NewWithT(t).Expect(seen).To(BeNumerically(">", 100))
}

func TestHelpSaysWhatTheCodesMean(t *testing.T) {
	g := NewWithT(t)
	own := regexp.MustCompile(`(?m)^ +(2|130) {2}`)
	for _, c := range leaves(newRoot(&cli.Factory{Name: "kubectl moult"})) {
		if c.Name() == "version" {
			continue
		}
		g.Expect(c.Long).To(MatchRegexp(`(?s)\n\nExit codes:\n  0  .*\nFor the others, see kubectl moult help exit-codes\.`), c.CommandPath())
		g.Expect(own.MatchString(c.Long)).To(BeFalse(), "%s: what means the same everywhere is said once", c.CommandPath())
	}
	code, out, _ := run(t, "moult", "help", "exit-codes")
	g.Expect(code).To(Equal(cli.ExitDone))
	for _, line := range []string{"0    yes", "1    no", "2    error", "3    unknown", "4    warnings", "130  interrupted"} {
		g.Expect(out).To(ContainSubstring("\n  " + line))
	}
}

func TestHelpHasTheCommandsInTheOrderOfTheirUse(t *testing.T) {
	g := NewWithT(t)
	_, out, _ := run(t, "moult", "--help")
	var names []string
	for _, line := range regexp.MustCompile(`(?m)^(\S.*:$| {2}[a-z][a-z-]+ {2})`).FindAllString(out, -1) {
		names = append(names, strings.TrimSpace(line))
	}
	g.Expect(names).To(Equal([]string{"Usage:",
		"Migrate a cluster:", "plan", "status", "wait", "migrate",
		"Check before you act:", "doctor", "rehearse", "survivors", "preview", "snapshot", "check",
		"Repair and recover:", "repair", "backup", "restore",
		"Change files in Git:", "opt-in", "rewrite", "rbac",
		"Publish an operator:", "test", "bridge", "notes",
		"Other commands:", "version", "completion", "help",
		"Flags:", "Additional help topics:"}))
}
