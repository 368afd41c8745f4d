package desired

import (
	"slices"
	"strings"
	"sync"

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
		delete(after, u.Name) // once
		if now == nil {
			continue
		}
		gone, made := was.without(now), now.without(was)
		if len(gone)+len(made) == 0 {
			continue
		}
		var both sync.WaitGroup
		var then, today delivery.Unseen
		both.Go(func() { then = was.unseen(gone) })
		both.Go(func() { today = now.unseen(made) })
		both.Wait()
		if then.Fingerprint == today.Fingerprint {
			continue
		}
		if today.Why == "" {
			today.Why = then.Why
		}
		head.Unseen = append(head.Unseen, today)
		if was != nil {
			base.Unseen = append(base.Unseen, then)
		}
	}
}

// chartsOf are those of a unit that other clusters may make something else of.
type chartsOf struct {
	*delivery.Unit

	all []delivery.Depending
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
		one.all = append(one.all, u.Depending...)
	}
	return found
}

// without are the charts that another side of the unit does not have. What it has makes the same there.
func (u *chartsOf) without(other *chartsOf) []delivery.Depending {
	if u == nil {
		return nil
	}
	if other == nil {
		return u.all
	}
	has := map[string]bool{}
	for _, d := range other.all {
		has[d.Key] = true
	}
	return slices.DeleteFunc(slices.Clone(u.all), func(d delivery.Depending) bool { return has[d.Key] })
}

// unseen is what clusters differ in, with an empty fingerprint if that is nothing.
func (u *chartsOf) unseen(charts []delivery.Depending) (s delivery.Unseen) {
	if u == nil { // a unit that is new
		return s
	}
	by := u.By
	if by == nil {
		by = files.StandIn("Chart", u.Name, "")
	}
	s = delivery.Unseen{Name: by.GetKind() + " " + strings.TrimPrefix(u.Name, by.GetKind()+" ") + " in other clusters", By: by}
	for _, d := range charts {
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
