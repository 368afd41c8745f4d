package status

import (
	"context"
	"errors"
	"maps"
	"slices"
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

	mu   sync.Mutex
	rows map[string]row
}

// errAllMigrated ends a watch.
var errAllMigrated = errors.New("all migrated")

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
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &watched{labelKey: s.LabelKey, byName: len(names) > 0, end: end, rows: map[string]row{}, display: progress.New(s.Out, words.Of(rows, func(r row) string { return r.Name }))}
	for _, r := range rows {
		w.rows[r.Name] = r
		w.display.Show(r.Name, r.state())
	}
	cluster.WatchCRDs(watching, names, s.Selector(), inspect.Watcher{
		Seen: w.update, Lost: w.lost, Refused: func(err error) { end(cli.ReadError(err)) },
	})
	w.display.Close()
	switch cause := context.Cause(watching); {
	case ctx.Err() != nil:
		return errors.New("interrupted before all were migrated; the migration itself goes on in the cluster")
	case errors.Is(cause, errAllMigrated):
		return nil
	default:
		return cause
	}
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
	w.endIfAllMigrated()
}

func (w *watched) update(crd *apiextensionsv1.CustomResourceDefinition) {
	r := rowOf(crd, w.labelKey)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[r.Name] = r
	w.display.Show(r.Name, r.state())
	w.endIfAllMigrated()
}

func (w *watched) endIfAllMigrated() {
	if allMigrated(slices.Collect(maps.Values(w.rows))) {
		w.end(errAllMigrated)
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
