package plan

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/cmd/moult/internal/progress"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/runbook"
)

// back is the way back that the flags ask for; nil if they ask for none.
func (p *command) back(c *cobra.Command, name string) (*runbook.Return, error) {
	switch {
	case p.backTo == "" && p.release != "":
		return nil, errors.New("--release is where to go back to; name the version with --back-to")
	case p.backTo == "":
		return nil, nil
	case p.to != "":
		return nil, errors.New("--to is the way forth and --back-to the way back; leave one out")
	}
	back := &runbook.Return{Place: p.release, Context: p.CurrentContext()}
	if p.release == "" {
		return back, nil
	}
	all, err := input.CRDs(c.Context(), p.release, c.InOrStdin())
	if err == nil {
		all, err = input.Chosen(all, []string{name}, p.release)
	}
	if err != nil {
		return nil, err
	}
	back.Release = all[0]
	return back, nil
}

// rehearsed is what becomes of the objects when they are stored at the older version. It is nil if that is not asked any more, or
// if a webhook converts: `moult rehearse` asks it.
func (p *command) rehearsed(ctx context.Context, cluster *inspect.Cluster, o runbook.Observation) (*conversion.Report, error) {
	returned, err := runbook.Returned(o)
	if err != nil || crds.HasWebhook(returned) || crds.StorageVersion(o.CRD) == o.To {
		return nil, err
	}
	e, err := conversion.New(returned)
	if err != nil {
		return nil, err
	}
	tally := conversion.NewTally()
	engines.Live{Cluster: cluster, LabelKey: p.LabelKey, Tell: progress.NewObjects(p.ErrOut).Tell}.Rehearse(ctx, o.CRD, e, tally)
	report := tally.Report(nil)
	return &report, ctx.Err()
}
