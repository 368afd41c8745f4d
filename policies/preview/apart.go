package preview

import (
	"maps"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
)

// Apart are the CRDs that several units of a cluster bring, as those units bring them. For the cluster only the last of them
// counts. That would hide what changes in another one: one that goes to another cluster, as with an ApplicationSet, or one that is
// no copy of the last. There is a Pair for each unit in which a CRD changes in another way. Those that bring it to other clusters
// than the last one does are elsewhere.
func Apart(p Pair) (here, elsewhere []Pair) {
	base, head := broughtBy(p.Base), broughtBy(p.Head)
	units, others := map[string]*Pair{}, map[string]bool{}
	for _, name := range namesIn(base, head) {
		if len(base[name]) <= 1 && len(head[name]) <= 1 {
			continue
		}
		last := change{base: p.Base.LastCRD(name), head: p.Head.LastCRD(name)}
		for _, unit := range namesIn(base[name], head[name]) {
			c := change{base: base[name][unit], head: head[name][unit]}
			if c.base == nil || c.isNone() || c.contents() == last.contents() || c.isTakenOver(last) {
				continue
			}
			if units[unit] == nil {
				units[unit] = &Pair{Name: nameHeld(p.Name, unit)}
			}
			put(units[unit], c)
			others[unit] = others[unit] || last.base != nil && c.base.Unit.Destination() != last.base.Unit.Destination()
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		if others[unit] {
			elsewhere = append(elsewhere, *units[unit])
		} else {
			here = append(here, *units[unit])
		}
	}
	return here, elsewhere
}

// broughtBy are the CRDs of a cluster by their name and by the unit; of two in a unit the later one.
func broughtBy(c delivery.Cluster) map[string]map[string]*delivery.CRD {
	found := map[string]map[string]*delivery.CRD{}
	for _, unit := range c.Units {
		for _, crd := range unit.CRDs() {
			if found[crd.GetName()] == nil {
				found[crd.GetName()] = map[string]*delivery.CRD{}
			}
			found[crd.GetName()][unit.Name] = &crd
		}
	}
	return found
}

// namesIn are the keys of two maps, in order.
func namesIn[V any](a, b map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

// contents stand for the CRD before and after.
func (c change) contents() (of [2]string) {
	for i, crd := range []*delivery.CRD{c.base, c.head} {
		if crd != nil {
			of[i] = contentOf(crd.Object)
		}
	}
	return of
}

func (c change) isNone() bool { return c.contents()[0] == c.contents()[1] }

// isTakenOver reports whether a CRD that a unit brings no longer comes from another one now, to the same cluster.
func (c change) isTakenOver(by change) bool {
	return c.head == nil && by.head != nil && c.base.Unit.Destination() == by.head.Unit.Destination()
}
