package preview

import (
	"context"
	"fmt"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// made are the CRDs of kustomizations and charts that no entry point leads to, and that changed files are part of. There is a pair for each that
// makes others than before, and one for what cannot be built. A person may apply them, like a file.
func (s *sides) made(ctx context.Context) (pairs []preview.Pair, err error) {
	names, err := s.unread()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	folders, err := s.onBoth(names, scan.Touched)
	if err != nil || len(folders) == 0 {
		return nil, err
	}
	all, err := s.both(func(from side) (delivery.Cluster, error) { return *scan.Made(ctx, from.tree, folders, s.building), nil })
	if err != nil {
		return nil, err
	}
	if len(all.Base.Unseen)+len(all.Head.Unseen) > 0 {
		pairs = append(pairs, preview.Pair{Base: delivery.Cluster{Unseen: all.Base.Unseen}, Head: delivery.Cluster{Unseen: all.Head.Unseen}})
	}
	known := map[string]bool{} // overlays change as what they are built of
	for _, u := range append(slices.Clone(all.Base.Units), all.Head.Units...) {
		pair := preview.Pair{Name: u.Name, Base: all.Base.Only(u.Name), Head: all.Head.Only(u.Name)}
		base, head := contentsOf(pair.Base), contentsOf(pair.Head)
		if base != head && !known[base+head] {
			known[base+head] = true
			pairs = append(pairs, pair)
		}
	}
	return pairs, nil
}

// contentsOf stands for the CRDs of a cluster.
func contentsOf(c delivery.Cluster) (text string) {
	for _, crd := range c.CRDs() {
		text += fmt.Sprintln(crd.Object.Object)
	}
	return text
}
