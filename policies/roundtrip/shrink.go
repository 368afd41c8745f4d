package roundtrip

import (
	"context"
	"iter"
	"slices"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// mostShrunk is how many findings of a CRD get a counter-example made small, and mostPages how often a webhook is asked for one.
	mostShrunk = 20
	mostPages  = 200
)

// Shrinker makes objects of one version smaller, which stay valid.
type Shrinker interface {
	Smaller(ctx context.Context, object map[string]any, path string) iter.Seq[map[string]any]
}

// Shrink looks for the smallest object that shows each finding about generated ones. The shrinkers are by version, and the others
// are objects whose statuses are written.
func (c *Checker) Shrink(ctx context.Context, counts *Counts, shrinkers map[string]Shrinker, others []Object) {
	shrunk := 0
	for _, sort := range counts.findings.Sorts() {
		k := sort.Key
		object, there := counts.generated[k]
		s := shrinkers[k.from]
		if !there || s == nil || !k.kind.Fails() {
			continue
		}
		counts.smallest[k] = object.Content
		if shrunk++; shrunk > mostShrunk || counts.first[k].Fault == conversion.FaultLate {
			continue
		}
		var p Problem
		counts.smallest[k], p = c.smallest(ctx, s, k, object, slices.DeleteFunc(slices.Clone(others), func(o Object) bool { return versionOf(o) != k.via }))
		if p.Kind != "" {
			shown := counts.first[k]
			shown.Was, shown.Is, shown.Says = p.Was, p.Is, p.Says
			counts.first[k] = shown
		}
	}
}

// smallest takes the first smaller object that still shows it, for as long as there is one.
func (c *Checker) smallest(ctx context.Context, s Shrinker, k key, o Object, others []Object) (map[string]any, Problem) {
	if k.kind != StatusWrite {
		others = nil
	}
	var shows Problem
	pages := 0
	for found := true; found && pages < mostPages && ctx.Err() == nil; {
		found = false
		var page []Object
		ask := func() bool { // reports whether to go on
			pages++
			for i, problems := range c.shown(ctx, page, k, others) {
				if at := slices.IndexFunc(problems, func(p Problem) bool { return keyOf(page[i], k.via, p) == k }); at >= 0 {
					o, shows, found = page[i], problems[at], true
					break
				}
			}
			page = nil
			return !found && pages < mostPages && ctx.Err() == nil
		}
		for content := range s.Smaller(ctx, o.Content, k.what) {
			page = append(page, Object{Name: o.Name, Content: content, Generated: true})
			if len(page) == perPage && !ask() {
				break
			}
		}
		if len(page) > 0 && !found {
			ask()
		}
	}
	return o.Content, shows
}

// shown are the problems of objects, as far as they are of a kind.
func (c *Checker) shown(ctx context.Context, page []Object, k key, others []Object) [][]Problem {
	if k.kind != Ownership {
		return c.Through(ctx, page, k.via, others)
	}
	return words.Of(page, func(o Object) []Problem { return c.ownership(ctx, o, k.via, nil) })
}
