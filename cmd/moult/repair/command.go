// Package repair is `moult repair owners` and `moult survivors migrate`: what outlives a version is moved to one that stays. Both
// run an engine of controllers/rewrite/repairs once, and print its report.
package repair

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/words"
)

// NewCommand makes the subcommand.
func NewCommand(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{Use: "repair", Short: "Move what outlives a version to one that stays"}
	c.AddCommand(newOwners(f))
	return cli.OnlySubcommands(c)
}

// command is what a person says about either kind.
type command struct {
	*cli.Factory
	output   string
	versions []string
	dryRun   bool
	limit    int
	pace     migration.Options
}

// task is one of the two kinds.
type task struct {
	*repairs.Kind
	// saved is the file that keeps what is removed; empty if nothing is.
	saved string
	// find finds the CRDs that are asked for: for programs, and in a line for each.
	find func(ctx context.Context, cluster *inspect.Cluster, names, versions []string) (targets any, lines []string, note string, err error)
	// move does the work for them.
	move func(ctx context.Context, cfg *rest.Config, cluster *inspect.Cluster, work repairs.Work) (repairs.Report, error)
}

// bind has a command do what is asked for, with the flags that both kinds have.
func (r *command) bind(c *cobra.Command, many string, asked func() (task, error)) {
	c.ValidArgsFunction = r.CompleteCRDs
	c.RunE = func(c *cobra.Command, names []string) error {
		if err := r.validate(names); err != nil {
			return err
		}
		t, err := asked()
		if err != nil {
			return err
		}
		return r.run(c.Context(), words.Distinct(names), t)
	}
	c.Flags().StringSliceVar(&r.versions, "version", nil, "versions that are to be removed, or were removed; may be given several times")
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "write nothing; the API server checks every write")
	c.Flags().IntVar(&r.limit, "limit", 100, "most "+many+" that are named of each sort; all are counted; 0 for all")
	c.Flags().IntVar(&r.pace.MaxInFlight, "max-in-flight", migration.DefaultMaxInFlight, "most writes under way at any moment; below that their number adapts to what the API server can take")
	c.Flags().Float64Var(&r.pace.MaxQueued, "max-queued", throttle.DefaultMaxQueued, "most writes that wait inside the API server, on average")
	c.Flags().Float64Var(&r.pace.MaxRate, "max-rate", 0, "most writes per second; 0 is no bound")
	c.Flags().DurationVar(&r.pace.Settle, "settle", migration.DefaultSettle, "how long the CRD of an object has to stay as it is before the object is written, since an API server may lag or stand still")
	output.AddFlag(c, &r.output)
	_ = c.RegisterFlagCompletionFunc("version", cobra.NoFileCompletions)
}

func (r *command) validate(names []string) error {
	r.pace.LabelKey = r.LabelKey
	if err := start.Check(r.pace); err != nil {
		return err
	}
	return CheckSearch(r.limit, r.versions, names)
}

// CheckSearch refuses flags that do not fit each other, of commands that look for something about CRDs.
func CheckSearch(limit int, versions, names []string) error {
	if limit < 0 {
		return fmt.Errorf("--limit %d is below 0; 0 is for all", limit)
	}
	if len(versions) > 0 && len(names) == 0 {
		return errors.New("--version is about CRDs that are named; name at least one")
	}
	return nil
}

// run moves what there is of one kind, and prints what became of it. The error of an interruption says how to go on.
func (r *command) run(ctx context.Context, names []string, t task) error {
	cfg, err := r.ConfigToWrite(r.dryRun)
	if err != nil {
		return err
	}
	cluster, err := inspect.Connect(cfg)
	if err != nil {
		return err
	}
	targets, lines, note, err := t.find(ctx, cluster, names, words.Distinct(r.versions))
	if err != nil {
		return cli.ReadError(err)
	}
	if len(lines) == 0 {
		return fmt.Errorf("no CRD carries the label %s; name the CRDs whose %s are to be moved", r.Selector(), t.Many)
	}
	d := document{DryRun: r.dryRun, Saved: t.saved, Targets: targets, kind: t.Kind, lines: lines}
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	work, err := r.work(cluster)
	if err != nil {
		return cli.ReadError(err)
	}
	d.Report, err = t.move(ctx, cfg, cluster, work)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %s; nothing is lost: what was moved stays so, and the same command goes on from there", t.Count(d.Moved))
	}
	if err != nil {
		return err
	}
	d.Verdict = d.Report.Verdict()
	if r.output != "" {
		err = output.Print(r.Out, r.output, d)
	} else {
		d.print(r.Out)
	}
	return errors.Join(err, cli.EndedBy(d.Verdict == repairs.Remaining, d.Verdict == repairs.NotKnown))
}

// starting is printed once all that is needed is there.
func (r *command) starting(cfg *rest.Config, kind *repairs.Kind) {
	if !r.dryRun {
		fmt.Fprintf(r.ErrOut, "moving %s in the cluster at %s\n", kind.Many, cfg.Host)
	}
}

// work is what every kind is given.
func (r *command) work(cluster *inspect.Cluster) (repairs.Work, error) {
	resources, unseen, err := cluster.Resources()
	waits := func(s *rewrite.Settling) { fmt.Fprintf(r.ErrOut, "%s: %s\n", s, s.For.Round(time.Second)) }
	return repairs.Work{Resources: resources, Unseen: unseen, DryRun: r.dryRun, Most: r.limit, Lane: r.pace.NewPace().Lane(), Waits: waits}, err
}

// losses are what is asked before an object is written.
func (r *command) losses(cfg *rest.Config, httpClient *http.Client) (*migration.Losses, error) {
	losses, err := migration.NewLosses(cfg, httpClient, r.pace)
	if err == nil {
		losses.DryRun = r.dryRun
	}
	return losses, err
}

// pages are the objects of a cluster, while it is reported how far they are read.
func (r *command) pages(cluster *inspect.Cluster) inspect.Pages {
	return inspect.Pages{Cluster: cluster, Tell: progress.NewObjects(r.ErrOut).Tell}
}
