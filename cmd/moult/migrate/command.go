// Package migrate is `moult migrate`: CRDs migrated once, without a controller, or tried with a dry run.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/backup"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/words"
)

type command struct {
	*cli.Factory
	output  string
	dryRun  bool
	backup  string
	timeout time.Duration
	options migration.Options
}

// document is what -o json and -o yaml print.
type document struct {
	// Migrated is true when all CRDs asked for are.
	Migrated bool       `json:"migrated"`
	CRDs     []migrated `json:"crds"`
}

// migrated is how one CRD ended.
type migrated struct {
	Name     string `json:"name"`
	Migrated bool   `json:"migrated"`
	// Reason and Message are what the condition StorageMigrated says, or why there is none.
	Reason   string           `json:"reason"`
	Message  string           `json:"message"`
	Progress *progress.Counts `json:"progress,omitempty"`
	// Dropped are the fields that objects have lost, because the CRD allows it or because they are in status.
	Dropped []dropped `json:"dropped,omitempty"`

	last string // what was reported last, if it was cut off
}

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	m := &command{Factory: f}
	c := &cobra.Command{
		Use:   "migrate CRD...",
		Short: "Migrate CRDs once, from here, without a controller",
		Long:  long(f),
		Example: f.Example(`  # which objects would be refused?
  moult migrate widgets.example.com --dry-run

  # with a way back
  moult migrate widgets.example.com --backup widgets.tar.gz

  # migrate two CRDs side by side
  moult migrate widgets.example.com gadgets.example.com

  # as Moult's own user, where policies/admission/deny is installed
  moult migrate widgets.example.com --as ` + inspect.ControllerUser + `

  # from a Job, with a result for machines on standard output
  moult migrate widgets.example.com -o json`),
		Args: f.SomeCRDs,
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if m.dryRun {
				return f.CompleteCRDs(c, args, begun)
			}
			return f.CompleteOptedIn(c, args, begun)
		},
		RunE: func(c *cobra.Command, names []string) error { return m.run(c.Context(), words.Distinct(names)) },
	}
	m.bind(c)
	return c
}

// long is the help text.
func long(f *cli.Factory) string {
	return `Wait out the settle time, rewrite every object of the named CRDs at the storage
version, check every object again, and trim status.storedVersions. That is what
moult-controller does, by the same code, from a shell or a Job.

The CRDs must carry the opt-in label; if one of them does not, or does not exist,
none is touched. If it is interrupted, nothing is lost: the same command continues
with the remaining objects.

Where admission policies let only Moult's own user write the status of CRDs, name
that user with --as. It needs the right to impersonate it.

Where no webhook converts and objects have fields that the storage version lacks,
nothing is rewritten (FieldsWouldBeLost) until the CRD lets these fields go with the
annotation moult.dev/allow-field-loss. With --rehearse, conversion webhooks are asked
first, and nothing is rewritten that they would lose a field of.

With --backup a file is written first, as ` + "`" + `backup` + "`" + ` does, and verified. If it would lack
something, nothing is rewritten.

With --dry-run every object is sent its write as a dry run, so that admission and
validation are asked about it, and nothing is written. That needs no label.

` + f.ExitCodes(cli.Codes{Done: "every CRD asked for is migrated", NotDone: "at least one is not"}) + `

With --dry-run, 0 means that no write would be refused. 1 means that some would,
or that a CRD cannot be tried as it is, for example because it is paused.`
}

func (m *command) bind(c *cobra.Command) {
	c.Flags().BoolVar(&m.dryRun, "dry-run", false, "write nothing; list which objects would be refused; needs no label")
	c.Flags().StringVar(&m.backup, "backup", "", "file to write a backup of the CRDs and their objects to, and to verify it, before the first object is rewritten")
	_ = c.MarkFlagFilename("backup", "gz", "tgz")
	c.Flags().DurationVar(&m.options.Settle, "settle", migration.DefaultSettle, "how long after a change of the storage version an API server may still write at an older one. It is the longest of 34s and the API servers' --request-timeout (60s by default), plus how long one of them may lag or stand still")
	c.Flags().IntVar(&m.options.MaxInFlight, "max-in-flight", migration.DefaultMaxInFlight, "most writes under way at any moment, over all CRDs; below that their number adapts to what the API server can take")
	c.Flags().Float64Var(&m.options.MaxQueued, "max-queued", throttle.DefaultMaxQueued, "most writes that wait inside the API server, on average; fewer keep it quick for others, more make the most of it")
	c.Flags().Float64Var(&m.options.MaxRate, "max-rate", 0, "most writes per second, over all CRDs; 0 is no bound")
	c.Flags().BoolVar(&m.options.Rehearse, "rehearse", false, "ask the conversion webhooks first what they would lose, by the URL that the CRDs say, or the Service; rewrite nothing if they would lose something")
	c.Flags().DurationVar(&m.timeout, "timeout", 0, "how long to migrate at most; the same command goes on from there; 0 is no bound")
	output.AddFlag(c, &m.output)
}

func (m *command) validate() error {
	m.options.LabelKey = m.LabelKey
	if err := start.Check(m.options); err != nil {
		return err
	}
	if m.timeout < 0 {
		return fmt.Errorf("--timeout is %s; it must be longer than 0, for example 30m", m.timeout)
	}
	if m.dryRun && m.backup != "" {
		return errors.New("--dry-run migrates nothing, so it takes no --backup; leave one out")
	}
	return nil
}

func (m *command) run(ctx context.Context, names []string) error {
	if err := m.validate(); err != nil {
		return err
	}
	cfg, err := m.ConfigToWrite(m.dryRun)
	if err != nil {
		return err
	}
	services, stop, err := converters.ServicesOf(cfg)
	if err != nil {
		return err
	}
	defer stop()
	m.options.NewConverter = converters.Webhooks{Services: services}.For
	if m.dryRun {
		return m.tryAll(ctx, cfg, names)
	}
	return m.migrateAll(ctx, cfg, names)
}

// errTimeout is why what goes on for longer than --timeout is cut off.
var errTimeout = errors.New("the time is over")

func (m *command) migrateAll(ctx context.Context, cfg *rest.Config, names []string) error {
	if m.timeout > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, m.timeout, errTimeout)
		defer cancel()
		ctx = bounded
	}
	results, errs, err := m.eligible(ctx, names)
	if err != nil {
		return err
	}
	if errors.Join(errs...) == nil {
		if err := m.backUp(ctx, names); err != nil {
			return err
		}
		display := progress.New(m.ErrOut, names)
		m.each(names, func(i int, o migration.Options) {
			results[i], errs[i] = m.migrate(ctx, cfg, names[i], o, display)
		})
		display.Close()
		for _, r := range results {
			for _, d := range r.Dropped {
				fmt.Fprintf(m.ErrOut, "%s: dropped, as the storage version does not have it: %s\n", r.Name, d)
			}
		}
	}
	if m.output != "" {
		if err := output.Print(m.Out, m.output, document{Migrated: !slices.ContainsFunc(results, func(r migrated) bool { return !r.Migrated }), CRDs: results}); err != nil {
			return err
		}
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		return m.overdue(results)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing is lost: what is rewritten stays so, and the same command goes on from there")
	}
	return m.TellAll(errs)
}

// overdue is the last state of what is not migrated when the time is over.
func (m *command) overdue(results []migrated) error {
	late := cli.NotDone{Sentence: fmt.Sprintf("not migrated after %s; nothing is lost: what is rewritten stays so, and the same command goes on from there", m.timeout)}
	for _, r := range results {
		if !r.Migrated {
			late.Details = append(late.Details, r.Name+": "+r.last)
		}
	}
	if len(late.Details) == 0 {
		return nil
	}
	return late
}

// backUp takes a backup if one is asked for. What is not in it keeps the migration from beginning.
func (m *command) backUp(ctx context.Context, names []string) error {
	if m.backup == "" {
		return nil
	}
	if _, err := os.Lstat(m.backup); err == nil {
		return fmt.Errorf("%s is there, so nothing was migrated; if it is the backup of this migration, which is to go on, leave --backup out, else name another file", m.backup)
	}
	digest, err := backup.Take(ctx, m.Factory, names, m.backup)
	if err != nil {
		err = fmt.Errorf("%w; nothing was migrated", err)
		if errors.As(err, new(cli.Ended)) { // the backup is damaged, or may lack something
			err = cli.Ended{Code: cli.ExitNotDone, Err: err}
		}
		return err
	}
	fmt.Fprintf(m.ErrOut, "%s is written and verified: %s\n", m.backup, digest)
	return nil
}

// atATime is how many CRDs are migrated side by side.
const atATime = 16

// each does all CRDs side by side, and at one pace.
func (m *command) each(names []string, do func(i int, o migration.Options)) {
	options := m.options
	options.Pace = options.NewPace()
	var group errgroup.Group
	group.SetLimit(atATime)
	for i := range names {
		group.Go(func() error { do(i, options); return nil })
	}
	_ = group.Wait()
}

// lookingFirst is what is under way before anything is written.
const lookingFirst = "looking at every object first; nothing is rewritten yet"

func (m *command) migrate(ctx context.Context, cfg *rest.Config, name string, o migration.Options, display progress.Display) (migrated, error) {
	result := migrated{Name: name, last: "nothing is reported yet"}
	display.Show(name, progress.State{Phase: "starting"})
	err := migration.Run(ctx, rest.CopyConfig(cfg), name, o, func(u migration.Update) {
		if u.Reason == "" {
			return // the error says why there is nothing to tell
		}
		result.Reason, result.Message, result.Dropped = u.Reason, u.Sentence, droppedOf(u.Dropped)
		result.last = u.Reason + ": " + u.Sentence
		s := progress.State{Phase: u.Reason, Until: u.Until, Settle: o.Settle, Done: u.Reason == v1alpha1.ReasonMigrated}
		if u.Progress.Total > 0 {
			s.Counts = progress.Of(u.Progress)
		}
		if u.Looking {
			s.Note = lookingFirst
		} else if s.Counts != nil {
			result.Progress = s.Counts
		}
		display.Show(name, s)
	})
	if blocked := (*migration.Blocked)(nil); errors.As(err, &blocked) {
		result.Reason, result.Message = blocked.Reason, onceOnly(blocked.Sentence)
	} else if err != nil {
		result.Reason, result.Message = "Error", err.Error()
		if ctx.Err() != nil {
			result.Reason = "Interrupted"
		}
	}
	if err != nil {
		display.Show(name, progress.State{Phase: result.Reason, Counts: result.Progress.Ended()})
	}
	result.Migrated = err == nil
	return result, explain(name, err, "; the same command goes on from there")
}
