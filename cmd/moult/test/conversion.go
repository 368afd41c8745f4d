package test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/controllers/rewrite/fieldownership"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/roundtrip"
)

// command is what a person wants to be tested.
type command struct {
	*cli.Factory
	crds    string
	accept  string
	fuzz    int
	seed    uint64
	report  output.Report[roundtrip.Report]
	webhook engines.Webhook
}

func newConversion(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f, report: output.ReportOf(findings)}
	c := &cobra.Command{
		Use:   "conversion [FOLDER] --crds CRDS",
		Short: "Test that the conversion of CRDs loses nothing, there and back",
		Long:  long(f),
		Example: f.Example(`  # the fixtures of this repository, through its webhook
  moult test conversion test/fixtures --crds config/crd \
    --webhook-command 'bin/manager --webhook-port=$WEBHOOK_PORT --webhook-cert-path=$WEBHOOK_CERT_DIR'

  # and 1,000 made objects of each version
  moult test conversion test/fixtures --crds config/crd --fuzz 1000 \
    --webhook https://localhost:9443/convert --webhook-ca ca.crt

  # losses that are accepted: a list of crd, path and reason
  moult test conversion test/fixtures --crds config/crd --accept losses.yaml -o junit`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return r.run(c.Context(), args, c)
		},
	}
	c.Flags().StringVar(&r.crds, "crds", "", "the CRDs: a folder, a file, git:REV:PATH, or - for standard input")
	c.Flags().StringVar(&r.accept, "accept", "", "file with losses that are accepted: a YAML list of crd, path and reason")
	c.Flags().IntVar(&r.fuzz, "fuzz", 0, "how many objects to make from the schema of each version; default: none")
	c.Flags().Uint64Var(&r.seed, "seed", 1, "random seed: the same seed makes the same objects")
	r.webhook.Bind(c)
	r.report.AddFlag(c)
	_ = c.MarkFlagFilename("accept", "yaml", "yml")
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Convert objects from their version to each other version that is served, and back, and
list what is not as it was. What the API server does beside the webhook (pruning,
defaults, schemas, rules) is done by its own code. No cluster is asked.

The objects are the fixtures of the folder, one in each file, of this release and of
older ones: RELEASE/GROUP.VERSION.KIND.yaml. The differences after a trip that are
accepted are in RELEASE/GROUP.VERSION.KIND.after_roundtrip.yaml beside it.

With --fuzz N, N objects of each version are made from its schema, all of which the API
server would take. For each loss, the smallest object that shows it is printed. FOLDER
can be left out then.

The file moult-test.yaml in the folder names fields that confirm something destructive.
Their loss is reported first and cannot be accepted:
  confirmations:
    - {crd: widgets.example.com, path: spec.confirmDeletion}
It also gives the values that made objects have where the webhook wants more than the
schema says:
  values:
    - {crd: widgets.example.com, path: "spec.hosts[*].timeout", values: [10s, 1m0s]}

What a conversion webhook does is known only if it can be asked:
  --webhook-command CMD  it is started for this, by the shell, and ended. It listens on
                         127.0.0.1, port $WEBHOOK_PORT, with tls.crt and tls.key of the
                         folder $WEBHOOK_CERT_DIR; the path is the CRD's, or /convert
  --webhook URL          there, for example https://localhost:9443/convert;
                         --webhook-ca is the file with its certificate authority
  --webhook crd          as the CRDs say

` + f.ExitCodes(cli.Codes{
		Done:    "nothing is lost",
		NotDone: "something is lost, changed or refused, or cannot be converted",
		Unknown: "nothing is lost of what could be looked at, and some could not",
	})
}

func (r *command) run(ctx context.Context, args []string, c *cobra.Command) error {
	if err := r.webhook.Check(); err != nil {
		return err
	}
	if r.crds == "" {
		return errors.New("name the CRDs with --crds, for example --crds config/crd")
	}
	accepted, err := input.Accepted(r.accept)
	if err != nil {
		return err
	}
	objects, config, err := r.fixtures(args)
	if err != nil {
		return err
	}
	all, err := input.CRDs(ctx, r.crds, c.InOrStdin())
	if err != nil {
		return err
	}
	subject, err := engines.NewSubject(all)
	if err != nil {
		return err
	}
	if err := known(config, subject); err != nil {
		return err
	}
	counts, unknown, err := r.check(ctx, subject, objects, config)
	if err != nil {
		return err
	}
	report := roundtrip.ReportOf(counts, accepted, unknown)
	if err := r.report.Print(r.Out, report); err != nil {
		return err
	}
	return cli.EndedBy(report.Verdict == conversion.NotKept, report.Verdict == conversion.NotKnown)
}

// check takes all objects there and back. What belongs to none of the CRDs is not known.
func (r *command) check(ctx context.Context, s *engines.Subject, objects []roundtrip.Object, config roundtrip.Config) (counts []*roundtrip.Counts, unknown []string, err error) {
	askers, stop, err := r.webhook.Open(ctx, s, r.Factory)
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	for i, ask := range askers {
		e, err := ask(s.CRDs[i])
		if err != nil {
			return nil, nil, err
		}
		var own []roundtrip.Object
		objects = slices.DeleteFunc(objects, func(o roundtrip.Object) bool {
			is := e.IsOf(o.Content)
			if is {
				own = append(own, o)
			}
			return is
		})
		confirmations := config.Of(e.CRD)
		of := roundtrip.NewCounts(e, confirmations)
		types, err := fieldownership.TypeConverterOf(s.CRDs[i])
		if err != nil {
			return nil, nil, err
		}
		checker := roundtrip.NewChecker(e, confirmations).WithTypes(types)
		checker.Check(ctx, own, of)
		if r.fuzz > 0 && len(e.Served()) > 1 {
			r.generated(ctx, s.CRDs[i], e, checker, of, config)
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		counts = append(counts, of)
	}
	if why := r.webhook.Ended(); why != "" {
		unknown = append(unknown, why)
	}
	for _, o := range objects {
		unknown = append(unknown, fmt.Sprintf("%s: none of the CRDs is of %v, %v", o.Name, o.Content["apiVersion"], o.Content["kind"]))
	}
	return counts, unknown, nil
}

// known refuses settings about a CRD that there is not: they would hold nothing to anything.
func known(config roundtrip.Config, s *engines.Subject) error {
	for _, name := range config.CRDs() {
		if !slices.ContainsFunc(s.Engines, func(e *conversion.Engine) bool { return e.CRD == name }) {
			return fmt.Errorf("%s: there is no %s in the CRDs of --crds", roundtrip.Settings, name)
		}
	}
	return nil
}
