package desired

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/policies/delivery"
)

// mostAtOnce is how many charts are fetched at the same time.
const mostAtOnce = 8

// fetchAhead has the charts of pending HelmReleases fetched side by side; one after the other they would take as long as a
// registry takes to answer, for each. What fails is reported when the chart is needed.
func (f *follower) fetchAhead(ctx context.Context) {
	var all errgroup.Group
	all.SetLimit(mostAtOnce)
	for _, p := range f.pending[f.ahead:] { // those before were looked at
		if reference, known := f.referenceOf(p.by); known && !f.templated[p.by] {
			all.Go(func() error {
				_, _ = f.charts.Chart(ctx, reference) // who needs it asks again, and gets the same
				return nil
			})
		}
	}
	_ = all.Wait() // there is none
	f.ahead = len(f.pending)
}

// referenceOf is the chart of a HelmRelease that is not in this repository.
func (f *follower) referenceOf(by *delivery.Object) (charts.Reference, bool) {
	if ref, ok := by.Field("spec", "chartRef").(map[string]any); ok {
		to := delivery.ReferenceOf(delivery.Wrap(ref), by.GetNamespace())
		reference, err := f.inOCIRepository(to)
		return reference, err == nil && to.Kind == "OCIRepository"
	}
	t := flux.TemplateOf(by.Field("spec", "chart", "spec"), by.GetNamespace())
	reference, err := f.inHelmRepository(t.Source, t.Text("chart"), t.Text("version"))
	return reference, err == nil && t.Source.Kind == "HelmRepository" && t.Text("chart") != ""
}
