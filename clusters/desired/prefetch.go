package desired

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// mostAtOnce is how many charts are fetched at the same time.
const mostAtOnce = 8

// fetchAhead has the charts of pending HelmReleases fetched side by side; one after the other they would take as long as a
// registry takes to answer, for each. What fails is reported when the chart is needed.
func (f *follower) fetchAhead(ctx context.Context) {
	var all errgroup.Group
	all.SetLimit(mostAtOnce)
	for _, p := range f.pending[f.ahead:] { // those before were looked at
		if reference, known := f.known.ReferenceOf(p.by); known && !f.known.Templated[p.by] {
			all.Go(func() error {
				_, _ = f.charts.Chart(ctx, reference) // who needs it asks again, and gets the same
				return nil
			})
		}
	}
	_ = all.Wait() // there is none
	f.ahead = len(f.pending)
}
