// Package cli is what the subcommands of moult share. It has the flags that name a cluster and a user, the way to the
// cluster, and the checks of arguments. It makes an error a line on standard error and an exit code. What a subcommand
// has to say goes to standard output, progress and errors to standard error, an error being one line that says what to
// do next.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

// Factory is what all subcommands get: how the user calls us, where to write, and what the flags of the root say.
type Factory struct {
	// Name is how the user calls the program.
	Name        string
	Out, ErrOut io.Writer
	// In is a person's, who can be asked; nil if there is none.
	In io.Reader
	// LabelKey is the label that opts a CRD in.
	LabelKey string
	// ContextName is that of the kubeconfig; empty is its current one.
	ContextName string

	kubeconfig string
	as         rest.ImpersonationConfig
}

// Root is the command that the subcommands are added to, with the flags that they share.
func (f *Factory) Root() *cobra.Command {
	root := &cobra.Command{
		Use:           "moult",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: f.Name},
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
		Args:                  knownSubcommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE:     func(c *cobra.Command, _ []string) error { return cmp.Or(checkValues(c), f.checkLabelKey()) },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or the cluster this runs in")
	flags.StringVar(&f.ContextName, "context", "", "context of the kubeconfig to use; default: the current one, which commands that write ask about if there are others")
	bindImpersonation(flags, &f.as)
	flags.StringVar(&f.LabelKey, "label-key", v1alpha1.MigrateLabel, "label that opts a CRD in with the value \"true\"")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	_ = root.RegisterFlagCompletionFunc("context", f.CompleteContexts)
	return root
}

// Run executes a command line and returns its exit code.
func (f *Factory) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetOut(f.Out)
	root.SetErr(f.ErrOut)
	return f.exit(ctx, root.ExecuteContext(ctx))
}

// checkLabelKey refuses a key before any cluster is asked about it.
func (f *Factory) checkLabelKey() error {
	o := migration.Options{LabelKey: f.LabelKey, Settle: migration.DefaultSettle, MaxInFlight: migration.DefaultMaxInFlight, MaxQueued: throttle.DefaultMaxQueued}
	return start.Check(o)
}

// ourCommand is where an example calls the program: at the beginning of a line, or behind a pipe. In a comment it is a word.
var ourCommand = regexp.MustCompile(`(?m)(^ {2}|\| )moult `)

// Example is a help text's examples, calling the program as the user did. They have no prompt, so that they can be pasted.
func (f *Factory) Example(text string) string {
	return ourCommand.ReplaceAllString(text, "${1}"+f.Name+" ")
}
