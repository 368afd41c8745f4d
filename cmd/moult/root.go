package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/backup"
	"github.com/moult-dev/moult/cmd/moult/bridge"
	"github.com/moult-dev/moult/cmd/moult/check"
	"github.com/moult-dev/moult/cmd/moult/doctor"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/migrate"
	"github.com/moult-dev/moult/cmd/moult/notes"
	"github.com/moult-dev/moult/cmd/moult/optin"
	"github.com/moult-dev/moult/cmd/moult/plan"
	"github.com/moult-dev/moult/cmd/moult/preview"
	"github.com/moult-dev/moult/cmd/moult/rbac"
	"github.com/moult-dev/moult/cmd/moult/rehearse"
	"github.com/moult-dev/moult/cmd/moult/repair"
	"github.com/moult-dev/moult/cmd/moult/restore"
	"github.com/moult-dev/moult/cmd/moult/rewrite"
	"github.com/moult-dev/moult/cmd/moult/snapshot"
	"github.com/moult-dev/moult/cmd/moult/status"
	"github.com/moult-dev/moult/cmd/moult/survivors"
	"github.com/moult-dev/moult/cmd/moult/test"
	"github.com/moult-dev/moult/cmd/moult/version"
)

// nameFrom is how help and errors call the program that was started as program.
func nameFrom(program string) string {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	if plugin, ok := strings.CutPrefix(base, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "moult"
}

func newRoot(f *cli.Factory) *cobra.Command {
	root := f.Root()
	root.Short = "Migrate the stored objects of CRDs to their storage version, and see how far that is"
	root.Long = fmt.Sprintf(`Moult rewrites every stored object of a CustomResourceDefinition at its storage
version, proves it, and trims status.storedVersions, so that old versions can be
removed from the CRD. It touches only CRDs that carry the label
%s: %q.`, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue)
	root.Version = start.Version()
	root.SetVersionTemplate("moult {{.Version}}\n")
	cobra.EnableCommandSorting = false // they stand in the order in which one needs them
	for _, g := range groups(f) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(cli.NewExitCodes(f))
	root.SetHelpCommandGroupID(others)
	root.SetCompletionCommandGroupID(others)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			cli.OnlySubcommands(c)
		case "help":
			cli.CheckHelp(c)
		}
	}
	return root
}

// others is the group of commands that no task needs.
const others = "other"

// group is some of the commands, under a title of the help.
type group struct {
	id, title string
	commands  []*cobra.Command
}

// groups are all commands, in the order in which one needs them.
func groups(f *cli.Factory) []group {
	return []group{
		{"migrate", "Migrate a cluster", []*cobra.Command{plan.NewCommand(f), status.NewCommand(f), status.NewWaitCommand(f), migrate.NewCommand(f)}},
		{"check", "Check before you act", []*cobra.Command{doctor.NewCommand(f), rehearse.NewCommand(f), survivors.NewCommand(f), preview.NewCommand(f), snapshot.NewCommand(f), check.NewCommand(f)}},
		{"repair", "Repair and recover", []*cobra.Command{repair.NewCommand(f), backup.NewCommand(f), restore.NewCommand(f)}},
		{"git", "Change files in Git", []*cobra.Command{optin.NewCommand(f), rewrite.NewCommand(f), rbac.NewCommand(f)}},
		{"operator", "Publish an operator", []*cobra.Command{test.NewCommand(f), bridge.NewCommand(f), notes.NewCommand(f)}},
		{others, "Other commands", []*cobra.Command{version.NewCommand(f)}},
	}
}
