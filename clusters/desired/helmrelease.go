package desired

import (
	"context"
	"errors"
	"reflect"

	"golang.org/x/sync/errgroup"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// releases are the HelmReleases of a cluster.
type releases struct {
	// charts renders theirs, and those of Applications and kustomizations.
	charts helm.Renderer
	// pending are those to be rendered when all else has been found that their values may come from.
	pending []pointer
	// ahead is how many of them, from the first, fetchAhead has looked at.
	ahead int
	// released are those that are rendered, by their names, and notRendered says why others are not.
	released    map[string]*delivery.Object
	notRendered map[*delivery.Object]error
}

func newReleases(t *files.Tree, source helm.Source) *releases {
	if source == nil {
		source = helm.None{}
	}
	return &releases{charts: helm.Renderer{Source: source, Tree: t}, released: map[string]*delivery.Object{}, notRendered: map[*delivery.Object]error{}}
}

// rendered reports whether what a HelmRelease installs is among the units.
func (r *releases) rendered(by *delivery.Object) bool {
	return r != nil && kinds.IsHelmRelease(by) && r.notRendered[by] == nil
}

// release makes a unit of a HelmRelease if its chart can be rendered. If it cannot, the HelmRelease is unseen, and why is
// remembered.
func (f *follower) release(ctx context.Context, p pointer) {
	if other := f.released[f.key(p)]; other != nil {
		if !reflect.DeepEqual(other.Object, p.by.Object) {
			f.notRendered[p.by] = errors.New("another manifest of the same name is rendered")
		}
		return
	}
	unit, err := f.known.Release(ctx, f.charts, p.by, p.parent)
	if err != nil {
		f.notRendered[p.by] = err
		return
	}
	f.released[f.key(p)] = p.by
	f.cluster.Units = append(f.cluster.Units, unit)
	f.report(unit)
}

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
