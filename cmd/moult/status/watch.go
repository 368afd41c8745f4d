package status

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/words"
)

// watched is what status --watch knows of the CRDs it looks at.
type watched struct {
	labelKey string
	byName   bool // the CRDs were named; otherwise they are all that are opted in
	display  progress.Display
	end      context.CancelCauseFunc
	done     func([]row) bool // what it waits for

	mu   sync.Mutex
	rows map[string]row
}

// errDone ends a watch.
var errDone = errors.New("all is as it was waited for")

// follow draws until everything is migrated. It watches, because asking again and again would fetch every schema each
// time.
func (s *command) follow(ctx context.Context, cluster *inspect.Cluster, names []string) error {
	rows, err := s.rows(ctx, cluster, names)
	if err != nil {
		return err
	}
	if len(rows) == 0 || allMigrated(rows) {
		return errors.Join(s.print(rows, true), s.verdict(rows))
	}
	if _, err := s.watchUntil(ctx, cluster, names, rows, progress.New(s.Out, namesOf(rows)), allMigrated); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted before all were migrated; the migration itself goes on in the cluster")
	}
	return nil
}

func namesOf(rows []row) []string { return words.Of(rows, func(r row) string { return r.Name }) }

// watchUntil draws until the rows are done, or ctx ends. It returns the rows as they were seen last.
func (s *command) watchUntil(ctx context.Context, cluster *inspect.Cluster, names []string, rows []row, display progress.Display, done func([]row) bool) ([]row, error) {
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &watched{labelKey: s.LabelKey, byName: len(names) > 0, end: end, done: done, rows: map[string]row{}, display: display}
	for _, r := range rows {
		w.rows[r.Name] = r
		w.display.Show(r.Name, r.state())
	}
	cluster.WatchCRDs(watching, names, s.Selector(), inspect.Watcher{
		Seen: w.update, Lost: w.lost, Refused: func(err error) { end(cli.ReadError(err)) },
	})
	w.display.Close()
	last := slices.SortedFunc(maps.Values(w.rows), func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	if cause := context.Cause(watching); ctx.Err() == nil && !errors.Is(cause, errDone) {
		return last, cause
	}
	return last, nil
}

// lost is a CRD that was deleted or, where all opted-in CRDs are watched, is no longer one of them. Only then the others
// alone can be all that was asked for.
func (w *watched) lost(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.display.Show(name, progress.State{Phase: "gone"})
	w.rows[name] = row{Name: name}
	if !w.byName {
		delete(w.rows, name)
	}
	w.endIfDone()
}

func (w *watched) update(crd *apiextensionsv1.CustomResourceDefinition) {
	r := rowOf(crd, w.labelKey)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[r.Name] = r
	w.display.Show(r.Name, r.state())
	w.endIfDone()
}

func (w *watched) endIfDone() {
	if w.done(slices.Collect(maps.Values(w.rows))) {
		w.end(errDone)
	}
}

// state is the row on a display, with the condition's message where a person is needed.
func (r row) state() progress.State {
	s := progress.State{Phase: r.condition(), Counts: r.Progress, Done: r.Migrated}
	switch r.Reason {
	case "", v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying:
	default:
		s.Note = r.Message
	}
	return s
}
