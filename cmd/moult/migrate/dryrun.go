package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/words"
)

// trials is what migrate --dry-run prints with -o json and -o yaml.
type trials struct {
	CRDs []trial `json:"crds"`
}

// trial is what a migration of one CRD would meet.
type trial struct {
	Name string `json:"name"`
	// Objects is how many would be sent a write.
	Objects int64 `json:"objects"`
	// Refused is how many of these writes would be refused; Refusals are the first 20.
	Refused  int64     `json:"refused"`
	Refusals []refusal `json:"refusals,omitempty"`
	// Dropped are the fields that objects would lose, because the CRD allows it or because they are in status.
	Dropped []dropped `json:"dropped,omitempty"`
	// Reason and Message say why it could not be tried at all.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// dropped is a field that objects lose because the storage version does not have it.
type dropped struct {
	Field   string `json:"field"`
	Version string `json:"version"`
	Objects int64  `json:"objects"`
	Example string `json:"example"` // namespace/name
}

func droppedOf(losses []rewrite.FieldLoss) (all []dropped) {
	for _, l := range losses {
		if l.Allowed {
			all = append(all, dropped{l.Field, l.Version, l.Objects, strings.TrimPrefix(l.Object.String(), "/")})
		}
	}
	return all
}

func (d dropped) String() string {
	return fmt.Sprintf("%s of %s (%s, for example %s)", d.Field, d.Version, words.Count(d.Objects, "object"), d.Example)
}

type refusal struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// tryAll is migrate --dry-run.
func (m *command) tryAll(ctx context.Context, cfg *rest.Config, names []string) error {
	all, errs := make([]trial, len(names)), make([]error, len(names))
	fmt.Fprintf(m.ErrOut, "asking the API server about every object of %s; nothing is written\n", strings.Join(names, ", "))
	display := progress.New(m.ErrOut, names)
	m.each(names, func(i int, o migration.Options) {
		all[i], errs[i] = try(ctx, cfg, names[i], o, display)
	})
	display.Close()
	if ctx.Err() != nil {
		return errors.New("interrupted; a dry run leaves nothing behind")
	}
	if err := m.printTrials(all); err != nil {
		return err
	}
	return m.TellAll(errs)
}

func try(ctx context.Context, cfg *rest.Config, name string, o migration.Options, display progress.Display) (trial, error) {
	result, err := migration.Trial(ctx, rest.CopyConfig(cfg), name, o, func(u migration.Update) {
		if u.Progress.Total == 0 {
			return
		}
		s := progress.State{Phase: "trying", Counts: progress.Of(u.Progress)}
		if u.Looking {
			s.Note = lookingFirst
		}
		display.Show(name, s)
	})
	t := trial{Name: name, Objects: result.Total, Refused: result.By[rewrite.Failed], Dropped: droppedOf(result.Fields)}
	t.Refusals = words.Of(result.FailedObjects, func(f rewrite.FailedObject) refusal { return refusal{f.Namespace, f.Name, f.Reason, f.Message} })
	blocked := (*migration.Blocked)(nil)
	switch {
	case errors.As(err, &blocked) && blocked.Reason == v1alpha1.ReasonObjectsFailed:
		return t, cli.NotDone{} // the list of the refused says more
	case errors.As(err, &blocked):
		t.Reason, t.Message = blocked.Reason, blocked.Sentence
	case err != nil:
		t.Reason, t.Message = "Error", err.Error()
	}
	return t, explain(name, err, "; nothing was written")
}

func (m *command) printTrials(all []trial) error {
	if m.output != "" {
		return output.Print(m.Out, m.output, trials{all})
	}
	for _, t := range all {
		if t.Reason != "" {
			continue // told as an error
		}
		fmt.Fprintf(m.Out, "%s: %d objects would be sent a write, %d would be refused\n", t.Name, t.Objects, t.Refused)
		for _, r := range t.Refusals {
			fmt.Fprintf(m.Out, "  %s\n", r)
		}
		if more := t.Refused - int64(len(t.Refusals)); more > 0 {
			fmt.Fprintf(m.Out, "  and %d more\n", more)
		}
		for _, d := range t.Dropped {
			fmt.Fprintf(m.Out, "  would be dropped: %s\n", d)
		}
	}
	return nil
}

func (r refusal) String() string {
	return fmt.Sprintf("%s: %s: %s", strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"), r.Reason, r.Message)
}
