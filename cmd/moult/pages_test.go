package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

//go:generate go test -vet=off . -run TestEachCommandHasItsPage -count=1 -update

var update = flag.Bool("update", false, "write docs/commands anew")

const commandPages = "../../docs/commands"

// Each command has a page with its help, for those who read the documents before they install anything.
func TestEachCommandHasItsPage(t *testing.T) {
	g := NewWithT(t)
	root := newRoot(&cli.Factory{Name: "moult"})
	want := map[string]string{"moult.md": firstPage(root)}
	for _, c := range leaves(root) {
		want[pageOf(c)] = page(c)
	}
	if *update {
		g.Expect(os.RemoveAll(commandPages)).To(Succeed())
		g.Expect(os.MkdirAll(commandPages, 0o755)).To(Succeed())
		for name, text := range want {
			g.Expect(os.WriteFile(filepath.Join(commandPages, name), []byte(text), 0o600)).To(Succeed())
		}
		return
	}
	got := map[string]string{}
	files, err := os.ReadDir(commandPages)
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(commandPages, file.Name()))
		g.Expect(err).NotTo(HaveOccurred())
		got[file.Name()] = string(text)
	}
	g.Expect(got).To(Equal(want), "run `make generate`, and commit what it wrote")
}

func pageOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") + ".md" }

func block(language, text string) string {
	return "```" + language + "\n" + strings.Trim(text, "\n") + "\n```\n\n"
}

// firstPage is about moult itself: all commands, and the flags that all of them have.
func firstPage(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The commands of moult\n\nThese pages are generated from what `moult help COMMAND` prints. [Reference](../reference.md#commands) has more about some.\n\n")
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "## %s\n\n| command | what it does |\n|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, top := range root.Commands() {
			if top.GroupID != group.ID {
				continue
			}
			for _, c := range leaves(top) {
				fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", c.CommandPath(), pageOf(c), c.Short)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## Flags of all commands\n\n" + block("text", root.PersistentFlags().FlagUsages()))
	return strings.TrimSpace(b.String()) + "\n"
}

// page is about one command.
func page(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", c.CommandPath(), c.Short)
	b.WriteString(block("text", c.Long))
	b.WriteString("## Usage\n\n" + block("text", c.UseLine()))
	if c.Example != "" {
		b.WriteString("## Examples\n\n" + block("sh", undent(c.Example)))
	}
	if flags := c.NonInheritedFlags().FlagUsages(); flags != "" {
		b.WriteString("## Flags\n\n" + block("text", flags))
	}
	b.WriteString("[Flags of all commands](moult.md#flags-of-all-commands)\n")
	return b.String()
}

func undent(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n")
}
