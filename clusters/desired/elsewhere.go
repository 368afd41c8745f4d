package desired

import (
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/policies/delivery"
)

// settleCharts compares what other clusters make of the charts of units, where these are not the same. What differs in another way than it did
// is not seen: in the cluster at hand it may be so.
func settleCharts(base, head *delivery.Cluster) {
	before, after := depending(base), depending(head)
	for _, u := range head.Units {
		was, now := before[u.Name], after[u.Name]
		if now == nil || was != nil && was.keys == now.keys {
			continue
		}
		delete(after, u.Name) // once
		var both errgroup.Group
		sides := make([]delivery.Unseen, 2)
		for i, one := range []*chartsOf{was, now} {
			both.Go(func() error {
				sides[i] = one.unseen()
				return nil
			})
		}
		_ = both.Wait() // there is none
		if was, now := sides[0], sides[1]; now.Fingerprint != was.Fingerprint {
			if now.Why == "" {
				now.Why = was.Why
			}
			head.Unseen = append(head.Unseen, now)
			if was.By != nil {
				base.Unseen = append(base.Unseen, was)
			}
		}
	}
}

// chartsOf are those of a unit that other clusters may make something else of.
type chartsOf struct {
	*delivery.Unit

	all  []delivery.Depending
	keys string
}

func depending(c *delivery.Cluster) map[string]*chartsOf {
	found := map[string]*chartsOf{}
	for _, u := range c.Units {
		if len(u.Depending) == 0 {
			continue
		}
		one := found[u.Name]
		if one == nil {
			one = &chartsOf{Unit: u}
			found[u.Name] = one
		}
		for _, d := range u.Depending {
			one.all, one.keys = append(one.all, d), one.keys+d.Key+" "
		}
	}
	return found
}

// unseen is what clusters differ in, with an empty fingerprint if that is nothing.
func (u *chartsOf) unseen() (s delivery.Unseen) {
	if u == nil {
		return s
	}
	by := u.By
	if by == nil {
		by = files.StandIn("Chart", u.Name, "")
	}
	s = delivery.Unseen{Name: by.GetKind() + " " + strings.TrimPrefix(u.Name, by.GetKind()+" ") + " in other clusters", By: by}
	for _, d := range u.all {
		names, fingerprint, err := d.What()
		switch {
		case err != nil:
			s.Why, s.Fingerprint = files.FailureOf(err), s.Fingerprint+d.Key
		case len(names) > 0:
			s.Why, s.Fingerprint = helm.OnCluster(names).Error(), s.Fingerprint+fingerprint
		}
	}
	return s
}
