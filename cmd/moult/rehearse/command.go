// Package rehearse is `moult rehearse`: what would become of objects if they were stored at the version of new CRDs.
package rehearse

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// command is what a person wants to be rehearsed.
type command struct {
	*cli.Factory
	crds     string
	objects  []string
	contexts []string
	accept   string
	report   output.Report[conversion.Report]
	webhook  engines.Webhook
	lines    *progress.Objects
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f, report: output.ReportOf(findings)}
	c := &cobra.Command{
		Use:   "rehearse --crds NEW [--objects WHERE...] [--context CONTEXT...] [CRD...]",
		Short: "Rehearse what new CRDs do to existing objects",
		Long:  long(f),
		Example: f.Example(`  # the objects of a cluster, before a release is merged
  moult rehearse --context production --crds config/crd

  # of two clusters, for a pull request
  moult rehearse --context staging --context production --crds config/crd -o markdown

  # two revisions, and manifests
  moult rehearse --crds git:HEAD:config/crd --objects examples

  # the webhook of this working folder
  moult rehearse --crds config/crd --objects examples \
    --webhook-command 'bin/manager --webhook-port=$WEBHOOK_PORT --webhook-cert-path=$WEBHOOK_CERT_DIR'

  # losses that are accepted: a list of crd, path and reason
  moult rehearse --crds config/crd --objects backup.yaml --accept losses.yaml`),
		RunE: func(c *cobra.Command, names []string) error {
			return r.run(c.Context(), words.Distinct(names), c)
		},
	}
	c.Flags().StringVar(&r.crds, "crds", "", "the new CRDs: a folder, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringSliceVar(&r.objects, "objects", nil, "where the objects are: a folder, a file, git:REV:PATH, a backup, or -; may be given several times; default: the cluster")
	c.Flags().StringArrayVar(&r.contexts, "context", nil, "context of the kubeconfig, a cluster to ask; may be given several times")
	_ = c.RegisterFlagCompletionFunc("context", f.CompleteContexts)
	c.Flags().StringVar(&r.accept, "accept", "", "file with losses that are accepted: a YAML list of crd, path and reason")
	r.webhook.Bind(c)
	r.report.AddFlag(c)
	_ = c.MarkFlagFilename("accept", "yaml", "yml")
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Report what becomes of objects when they are stored at the storage version of new
CRDs, and read at their own version again. The report lists which fields are lost or get
another value, and which objects cannot be converted or would be refused. It is worked out
by the API server's own code for conversion, pruning, defaults, schemas and rules. Nothing
is written, and no server is asked but for the objects.

The objects are the manifests or the backup that --objects names, or those of the cluster,
or of several with --context. Of a cluster, all objects of the CRDs are read, at each
version that they may be stored at: only there all shows that is stored. What is stored at
a version that the cluster does not serve is not known.

A field is lost if clients of its version do not find it again. What is only a default
is no loss. Losses in status are reported and do not count. An object is refused if it
breaks the schema or a rule and the API server would refuse it although nothing in the
object changes. What the API server lets pass until the object changes is reported, too.

What a conversion webhook does is known only if it can be asked. Objects are sent to it:
  --webhook crd          as the CRDs say: by URL, or by Service, through a port-forward of
                         the cluster, which needs create on pods/portforward
  --webhook URL          there, for example https://localhost:9443/convert;
                         --webhook-ca is the file with its certificate authority
  --webhook-command CMD  it is started for this, by the shell, and ended. It listens on
                         127.0.0.1, port $WEBHOOK_PORT, with tls.crt and tls.key of the
                         folder $WEBHOOK_CERT_DIR; the path is the CRD's, or /convert
Without one of these, such objects are not known.

` + f.ExitCodes(cli.Codes{
		Done:    "nothing would be lost, and nothing refused",
		NotDone: "something would be lost, changed or refused, or cannot be converted",
		Unknown: "nothing is lost or refused of what could be looked at, and some could not",
	})
}

func (r *command) run(ctx context.Context, names []string, c *cobra.Command) error {
	accepted, err := input.Accepted(r.accept)
	if err != nil {
		return err
	}
	subject, err := r.webhook.Subject(ctx, r.crds, c.InOrStdin(), names...)
	if err != nil {
		return err
	}
	tally := conversion.NewTally()
	if err := r.rehearse(ctx, subject, tally, c); err != nil {
		return err
	}
	report := tally.Report(accepted)
	if err := r.report.Print(r.Out, report); err != nil {
		return err
	}
	return cli.EndedBy(report.Verdict == conversion.NotKept, report.Verdict == conversion.NotKnown)
}
