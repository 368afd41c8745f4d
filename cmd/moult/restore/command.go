// Package restore is `moult restore`: the objects of a backup in a cluster again.
package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/backup"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

type command struct {
	*cli.Factory
	file   string
	output string
	// converted are places of manifests.
	converted []string
	// fields are lists of patterns.
	fields  []string
	options restore.Options
	webhook engines.Webhook
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	r := &command{Factory: f}
	c := &cobra.Command{
		Use:   "restore -f FILE [CRD...]",
		Short: "Restore the objects of a backup",
		Long: `Create the objects of a backup in the cluster, of all its CRDs or of those that are
named. They get their status, their managedFields, and the UIDs that their owners have in
this cluster. The backup is verified first. What is there stays as it is, except with
--overwrite, and what differs is listed. If the command is interrupted, run it again: it
continues with what remains.

An object is restored at a version that the backup has and the cluster serves: without a
conversion webhook, at the one that shows most of its fields. If the cluster serves none of
them, the object is converted. Without a webhook, it keeps the fields that the served version
has. Else the webhook is asked that --webhook or --webhook-command names, as in ` + f.Name + ` rehearse.
What it cannot convert is listed with the reason. --converted gives such objects at a version
that the cluster serves, for example as Git has them: they take the place of a conversion, with
the metadata of the backup. What the cluster does not keep of an object is listed, for example a
field that the storage version's schema lacks. Serve and store at a version that has the field,
and restore with --overwrite. An object whose owner is missing, in the cluster and in the backup,
is not restored: it would be garbage-collected. --drop-owners drops that owner. Namespaces are not made.

--fields puts back only the fields that it names, into objects that no longer have them: what
an older version did not have, after the next upgrade. Values that were written since stay, and
so do objects that were made or deleted since. Fields are named as in the annotation
moult.dev/allow-field-loss; * stands for any one name.

It needs get, create and, with --overwrite, update on the objects, patch on them for their
managedFields, update on their status, and get on their owners.

` + f.ExitCodes(cli.Codes{
			Done:    "all objects are there, as they are in the backup, but for a status that\nsomebody else has written since",
			NotDone: "some are not: other objects are there, they were refused, or not all was\nkept; or the backup is damaged",
		}),
		Example: f.Example(`  # what would be done?
  moult restore -f backup.tar.gz --dry-run

  # what is missing
  moult restore -f backup.tar.gz widgets.example.com

  # everything as it was, also where it has changed since
  moult restore -f backup.tar.gz --overwrite

  # fields that were lost on the way back to an older version, and nothing else
  moult restore -f backup.tar.gz --fields spec.extra,spec.parts[*].note

  # the CRD has lost the version of the backup, and Git has the objects at the new one
  kustomize build apps | moult restore -f backup.tar.gz --converted -

  # in another cluster, with the CRDs
  moult restore -f backup.tar.gz --context new --with-crds`),
		RunE: func(c *cobra.Command, names []string) error {
			r.options.CRDs = words.Distinct(names)
			return r.run(c.Context(), c.InOrStdin())
		},
		ValidArgsFunction: f.CompleteCRDs,
	}
	r.flags(c)
	return c
}

func (r *command) flags(c *cobra.Command) {
	c.Flags().StringVarP(&r.file, "file", "f", "", "the backup")
	_ = c.MarkFlagFilename("file", "gz", "tgz")
	c.Flags().BoolVar(&r.options.DryRun, "dry-run", false, "write nothing; list what would be done")
	c.Flags().BoolVar(&r.options.Overwrite, "overwrite", false, "write over objects that differ")
	c.Flags().StringArrayVar(&r.fields, "fields", nil, "only put back these fields, where they are missing, with commas between them")
	c.Flags().BoolVar(&r.options.DropOwners, "drop-owners", false, "restore objects without owners that are not there")
	c.Flags().BoolVar(&r.options.WithCRDs, "with-crds", false, "make CRDs that the cluster lacks, as they are in the backup")
	c.Flags().StringSliceVar(&r.converted, "converted", nil, "where objects are at a version that the cluster serves, for those that the backup has only at others: a folder, a file, git:REV:PATH, or -")
	c.Flags().StringVar(&r.options.Version, "version", "", "version to restore at; default: that which shows most")
	r.webhook.Bind(c)
	output.AddFlag(c, &r.output)
}

func (r *command) run(ctx context.Context, stdin io.Reader) error {
	if r.file == "" {
		return errors.New("name the backup with -f, for example -f backup.tar.gz")
	}
	if err := cmp.Or(r.checkFields(), r.webhook.Check()); err != nil {
		return err
	}
	from, done, err := backup.OpenFile(r.file)
	if err != nil {
		return err
	}
	defer done()
	for _, name := range r.options.CRDs {
		if from.Definitions[name] == nil {
			return fmt.Errorf("%s has no %s; `%s backup verify %s` lists what it has", r.file, name, r.Name, words.Shell(r.file))
		}
	}
	cfg, err := r.ConfigToWrite(r.options.DryRun)
	if err != nil {
		return err
	}
	lines := progress.NewObjects(r.ErrOut)
	r.options.Tell = func(done, total int64) {
		lines.Tell(inspect.Progress{CRD: r.file, Done: done, Total: total})
	}
	for _, place := range r.converted {
		some, err := input.Objects(ctx, place, stdin)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			return fmt.Errorf("--converted: there is no object in %s; name the place of the manifests", input.Called(place))
		}
		r.options.Converted = append(r.options.Converted, some...)
	}
	defer r.converts(ctx)()
	defer backup.Thrifty()()
	report, err := restore.Run(ctx, cfg, from, r.options)
	if report != nil {
		if err := r.tell(report); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted; what is restored stays so, and the same command goes on from there")
	case err != nil:
		return fmt.Errorf("%w; what is restored stays so, and the same command goes on from there", err)
	case report.NotDone():
		return cli.Ended{Code: cli.ExitNotDone}
	}
	return nil
}

// converts has the webhook that the flags name asked, until it is stopped.
func (r *command) converts(ctx context.Context) (stop func()) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	if !r.webhook.IsNamed() {
		return stop
	}
	r.options.Engine = func(crd *apiextensionsv1.CustomResourceDefinition) (*conversion.Engine, error) {
		s, err := engines.NewSubject([]*apiextensionsv1.CustomResourceDefinition{crd})
		if err != nil {
			return nil, err
		}
		askers, ended, err := r.webhook.Open(ctx, s, r.Factory)
		if err != nil {
			return nil, err
		}
		stops = append(stops, ended)
		return askers[0](nil)
	}
	return stop
}

// checkFields refuses what --fields does not do.
func (r *command) checkFields() error {
	r.options.Fields = crdschema.Patterns(strings.Join(r.fields, ","))
	if len(r.fields) > 0 && (r.options.Overwrite || r.options.WithCRDs || r.options.DropOwners) {
		return errors.New("--fields puts back fields and nothing else; leave out --overwrite, --with-crds and --drop-owners")
	}
	if len(r.fields) > 0 && len(r.options.Fields) == 0 {
		return errors.New("--fields names no field; without the flag, whole objects are restored")
	}
	if err := crdschema.Check(r.options.Fields); err != nil {
		return fmt.Errorf("--fields: %w", err)
	}
	for _, field := range r.options.Fields {
		if crdschema.InStatus(field) || crdschema.In("metadata", field) {
			return fmt.Errorf("--fields %q: fields of metadata and status are not put back; name others, for example spec.extra", field)
		}
	}
	return nil
}

// said are the outcomes in words; of a dry run, in others.
var said = map[restore.Outcome][2]string{
	restore.Created:     {"created", "would be created"},
	restore.Overwritten: {"overwritten", "would be overwritten"},
	restore.PutBack:     {"with fields put back", "would get fields back"},
	restore.Absent:      {"not there, left out", "not there, would be left out"},
	restore.Unchanged:   {"as in the backup", "as in the backup"},
	restore.OtherStatus: {"with another status, left", "with another status, would be left"},
	restore.Differs:     {"with other content, left", "with other content, would be left"},
	restore.Refused:     {"refused", "would be refused"},
	restore.Unread:      {"not in the backup, which could not read them", "not in the backup, which could not read them"},
	restore.NotInBackup: {"in --converted and not in the backup, refused", "in --converted and not in the backup, would be refused"},
	restore.Deleting:    {"were being deleted, left out", "were being deleted, would be left out"},
}

// mostNamed is how many objects the text names for each outcome; -o json has more.
const mostNamed = 5

func (r *command) tell(report *restore.Report) error {
	if r.output != "" {
		return output.Print(r.Out, r.output, report)
	}
	mood := 0
	if report.DryRun {
		mood = 1
	}
	for i := range report.CRDs {
		of := &report.CRDs[i]
		if of.Needed != "" {
			fmt.Fprintf(r.Out, "%s  nothing restored of %s\n%s\n", of.Name, words.Count(of.Objects, "object"), output.Paragraph(of.Needed))
			continue
		}
		fmt.Fprintf(r.Out, "%s  %s\n", of.Name, words.Count(of.Objects, "object"))
		for _, outcome := range of.InOrder() {
			fmt.Fprintf(r.Out, "  %6d %s\n", of.Counts[outcome], said[outcome][mood])
			r.name(of, outcome)
		}
		if of.Managers > 0 {
			fmt.Fprintf(r.Out, "  %6d without managedFields of versions that the CRD no longer has: a webhook, or other keys of a list, name the fields otherwise; apply them again with their tools\n", of.Managers)
		}
		if of.Needless > 0 {
			fmt.Fprintf(r.Out, "  %6d in --converted, not used: the cluster serves a version that the backup has\n", of.Needless)
		}
	}
	for _, field := range report.NoField {
		fmt.Fprintf(r.Out, "--fields %s: no object of the backup has it, so nothing was put back by that name; look at one for the right name\n", field)
	}
	if len(report.OtherKinds) > 0 {
		fmt.Fprintf(r.Out, "in --converted, and of no CRD that is restored, so left alone: %s\n", words.Few(report.OtherKinds, mostNamed))
	}
	return nil
}

func (r *command) name(of *restore.CRDReport, outcome restore.Outcome) {
	named := 0
	for _, result := range of.Results {
		if result.Outcome != outcome {
			continue
		}
		if named++; named > mostNamed {
			fmt.Fprintf(r.Out, "%s… more of them: -o json\n", output.Indent)
			return
		}
		line := result.Object
		if result.Why != "" {
			line += ": " + result.Why
		}
		if len(result.Paths) > 0 {
			line += ": " + words.Few(result.Paths, 5)
		}
		fmt.Fprintln(r.Out, output.Paragraph(line))
	}
}
