package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/words"
)

// What can be waited for.
const (
	migrated  = "migrated"
	removable = "removable"
)

// waiting is `moult wait`.
type waiting struct {
	command
	what     string
	versions []string
	timeout  time.Duration
}

// waited is what -o json and -o yaml print.
type waited struct {
	// Done is true when what was waited for is the case, of all CRDs.
	Done bool  `json:"done"`
	CRDs []row `json:"crds"`
}

// NewWaitCommand makes the subcommand.
func NewWaitCommand(f *cli.Factory) *cobra.Command {
	w := &waiting{command: command{Factory: f}}
	c := &cobra.Command{
		Use:   "wait CRD...",
		Short: "Wait until CRDs are migrated, or versions may be removed",
		Long: `Wait until all named CRDs are migrated, or until versions of them may be removed, and
no longer than --timeout.

--for migrated    the condition StorageMigrated is True of the CRD as it is now
--for removable   the condition VersionsRemovable, which VersionRemovals bring about,
                  names the versions of --version, or the CRD no longer has them;
                  without --version, that it names any

At the end of the time the last state of each CRD is printed.

` + f.ExitCodes(cli.Codes{
			Done:    "what was waited for is the case",
			NotDone: "it is not, and the time is over",
		}),
		Example: f.Example(`  # after the commit that stores at v1
  moult wait widgets.example.com --for migrated --timeout 30m

  # once the commit that removes v1alpha1 and brings its VersionRemoval is merged: until the gate is open
  moult wait widgets.example.com --for removable --version v1alpha1`),
		Args:              f.SomeCRDs,
		ValidArgsFunction: f.CompleteCRDs,
		RunE:              func(c *cobra.Command, names []string) error { return w.run(c.Context(), words.Distinct(names)) },
	}
	c.Flags().StringVar(&w.what, "for", migrated, "migrated or removable")
	c.Flags().StringSliceVar(&w.versions, "version", nil, "with --for removable: the versions, with commas between them")
	c.Flags().DurationVar(&w.timeout, "timeout", 30*time.Minute, "how long to wait at most")
	output.AddFlag(c, &w.output)
	cli.OneOf(c, "for", migrated, removable)
	return c
}

func (w *waiting) validate() error {
	switch {
	case len(w.versions) > 0 && w.what != removable:
		return errors.New("--version is about --for removable")
	case w.timeout <= 0:
		return fmt.Errorf("--timeout is %s; it must be longer than 0, for example 30m", w.timeout)
	}
	return nil
}

func (w *waiting) run(ctx context.Context, names []string) error {
	if err := w.validate(); err != nil {
		return err
	}
	cluster, err := w.Cluster()
	if err != nil {
		return err
	}
	rows, err := w.rows(ctx, cluster, names)
	if err != nil {
		return err
	}
	if !w.done(rows) {
		bounded, cancel := context.WithTimeout(ctx, w.timeout)
		defer cancel()
		if rows, err = w.watchUntil(bounded, cluster, names, rows, progress.New(w.ErrOut, names), w.done); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; the migration itself goes on in the cluster")
	}
	verdict := w.verdict(ctx, cluster, rows)
	if w.output != "" {
		if err := output.Print(w.Out, w.output, waited{Done: verdict == nil, CRDs: rows}); err != nil {
			return err
		}
	}
	return verdict
}

// done reports whether all CRDs are as they are waited for.
func (w *waiting) done(rows []row) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r row) bool { return !w.isDone(r) })
}

func (w *waiting) isDone(r row) bool {
	if w.what == migrated {
		return r.Migrated
	}
	if len(w.versions) == 0 {
		return len(r.Removable) > 0
	}
	return !slices.ContainsFunc(w.versions, func(v string) bool { return slices.Contains(r.versions, v) && !slices.Contains(r.Removable, v) }) && len(r.versions) > 0
}

// verdict is nil if all CRDs are as they were waited for. A condition that calls versions removable is read once more, to see
// that Moult has written it: a watch does not tell.
func (w *waiting) verdict(ctx context.Context, cluster *inspect.Cluster, rows []row) error {
	if !w.done(rows) {
		last := words.Of(slices.DeleteFunc(slices.Clone(rows), w.isDone), w.state)
		return cli.NotDone{Sentence: fmt.Sprintf("not %s after %s", w.what, w.timeout), Details: last}
	}
	if w.what == migrated {
		return nil
	}
	manager := v1alpha1.FieldManagerOf(v1alpha1.RemovalFieldManager, w.LabelKey)
	for _, r := range rows {
		crd, err := cluster.GetCRD(ctx, r.Name)
		if err != nil {
			return cli.ReadError(err)
		}
		if now := rowOf(crd, w.LabelKey); len(now.Removable) > 0 && !crds.Says(crd.ManagedFields, manager, v1alpha1.VersionsRemovable) || !w.isDone(now) {
			return cli.NotDone{Sentence: fmt.Sprintf("%s: the condition %s was changed, or was not written by Moult (field manager %s); look at its VersionRemovals", r.Name, v1alpha1.VersionsRemovable, manager)}
		}
	}
	return nil
}

// state is the last state of a CRD that is not as it was waited for.
func (w *waiting) state(r row) string {
	state := r.condition()
	if r.Message != "" {
		state += ": " + r.Message
	}
	if w.what == removable && r.Migrated {
		state = "no VersionRemoval has found a version safe to remove; `kubectl get versionremovals -A` lists them"
		if len(r.Removable) > 0 {
			state = "only these may be removed: " + strings.Join(r.Removable, ", ")
		}
	}
	return r.Name + ": " + state
}
