package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/pace"
)

// app is what all subcommands share.
type app struct {
	name        string // how the user calls us
	kubeconfig  string
	contextName string
	as          impersonation
	labelKey    string
	out, errOut io.Writer
}

// run executes a command line and returns its exit code.
func run(ctx context.Context, name string, args []string, out, errOut io.Writer) int {
	a := &app{name: name, out: out, errOut: errOut}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	return a.exit(ctx, root.ExecuteContext(ctx))
}

// nameFrom is how help and errors call the program that was started as program.
func nameFrom(program string) string {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	if plugin, ok := strings.CutPrefix(base, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "moult"
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "moult",
		Short: "Migrate the stored objects of CRDs to their storage version, and see how far that is",
		Long: fmt.Sprintf(`Moult rewrites every stored object of a CustomResourceDefinition at its storage
version, proves it, and trims status.storedVersions, so that old versions can be
removed from the CRD. It touches only CRDs that carry the label
%s: %q.`, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: a.name},
		Version:       start.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
		Args:                  knownSubcommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE:     func(*cobra.Command, []string) error { return a.checkLabelKey() },
	}
	root.SetVersionTemplate("moult {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or the cluster this runs in")
	flags.StringVar(&a.contextName, "context", "", "context of the kubeconfig to use")
	a.as.bind(flags)
	flags.StringVar(&a.labelKey, "label-key", v1alpha1.MigrateLabel, "label that opts a CRD in with the value \"true\"")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.contexts(), cobra.ShellCompDirectiveNoFileComp
	})
	root.AddCommand(newStatus(a), newMigrate(a), newDoctor(a), newCheck(a), newOptIn(a), newRBAC(a),
		newPreview(a), newSnapshotCommand(a), newRewriteCommand(a), newBridgeCommand(a), newNotesCommand(a), newVersion(a))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			onlySubcommands(c)
		}
	}
	return root
}

// checkLabelKey refuses a key before any cluster is asked about it.
func (a *app) checkLabelKey() error {
	o := migration.Options{LabelKey: a.labelKey, Settle: migration.DefaultSettle, MaxInFlight: migration.DefaultMaxInFlight, MaxQueued: pace.DefaultMaxQueued}
	return start.Check(o)
}

// ourCommand is where an example calls the program: at the beginning of a line, or behind a pipe. In a comment it is a word.
var ourCommand = regexp.MustCompile(`(?m)(^ {2}|\| )moult `)

// example is a help text's examples, calling the program as the user did. They have no prompt, so that they can be pasted.
func (a *app) example(text string) string {
	return ourCommand.ReplaceAllString(text, "${1}"+a.name+" ")
}
