package roundtrip

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// perPage is how many objects a webhook is asked about in one request.
const perPage = 20

// Object is one that is taken there and back.
type Object struct {
	// Name is the file of a fixture, or says which of the generated objects it is.
	Name    string
	Content map[string]any
	// After is what it may be after a trip; nil without a file that has it.
	After     map[string]any
	Generated bool
}

// Checker takes objects of one CRD there and back.
type Checker struct {
	engine        *conversion.Engine
	confirmations []string
	types         managedfields.TypeConverter // nil if ownership is not looked at
}

// NewChecker is one with paths of fields that confirm something destructive.
func NewChecker(e *conversion.Engine, confirmations []string) *Checker {
	return &Checker{engine: e, confirmations: confirmations}
}

// WithTypes has ownership looked at, too, by what the API server's field manager knows of the CRD.
func (c *Checker) WithTypes(types managedfields.TypeConverter) *Checker {
	with := *c
	with.types = types
	return &with
}

// Check takes objects from their version to each other one that is served, and back, and adds what is found to the counts. It ends
// early with the context.
func (c *Checker) Check(ctx context.Context, objects []Object, counts *Counts) {
	by := map[string][]Object{}
	for _, o := range objects {
		by[versionOf(o)] = append(by[versionOf(o)], o)
	}
	for _, from := range slices.Sorted(maps.Keys(by)) {
		for page := range slices.Chunk(by[from], perPage) {
			counts.count(page, c.confirmations)
			for _, o := range page {
				counts.add(o, "", c.invalid(ctx, o, from))
			}
			for _, via := range c.engine.Served() {
				if via == from {
					continue
				}
				found := c.Through(ctx, page, via, by[via])
				if ctx.Err() != nil {
					return // and what is found is not all
				}
				for i := range page {
					if !page[i].Generated || i == 0 { // it takes many requests
						found[i] = append(found[i], c.ownership(ctx, page[i], via, found[i])...)
					}
					counts.add(page[i], via, found[i])
				}
			}
		}
	}
}

// invalid reports what the API server would say of a fixture that is made anew.
func (c *Checker) invalid(ctx context.Context, o Object, from string) (all []Problem) {
	v := c.engine.Version(from)
	if v == nil || o.Generated {
		return nil
	}
	read, err := v.Read(o.Content)
	if err != nil {
		return []Problem{{Kind: Invalid, What: err.Error()}}
	}
	for _, what := range conversion.Said(c.engine.Problems(ctx, from, read)) {
		all = append(all, Problem{Kind: Invalid, What: what})
	}
	return all
}

// Through takes objects of one version to another one and back, twice, and has a status written there, as each of the others has it.
func (c *Checker) Through(ctx context.Context, objects []Object, via string, others []Object) [][]Problem {
	e := c.engine.StoredAt(via)
	all := make([][]Problem, len(objects))
	var arrived []int // those that have come back
	var again []map[string]any
	trips := e.Trips(ctx, contents(objects))
	for i := range trips {
		all[i] = c.problems(e, objects[i], &trips[i])
		if trips[i].Back != nil {
			arrived, again = append(arrived, i), append(again, trips[i].Back)
		}
	}
	for n, trip := range e.Trips(ctx, again) {
		i := arrived[n]
		all[i] = append(all[i], unstable(&trip, len(trips[i].Failed) > 0)...)
	}
	for i, found := range c.writeStatus(ctx, contents(objects), via, statuses(others)) {
		known := all[i] // a trip loses it without a write
		if objects[i].After != nil {
			for _, d := range between(objects[i].Content, objects[i].After) {
				known = append(slices.Clip(known), Problem{What: d.path.String()}) // and that is accepted
			}
		}
		for _, p := range found {
			if !slices.ContainsFunc(known, func(k Problem) bool { return covers(k.What, p.What) || covers(p.What, k.What) }) {
				all[i] = append(all[i], p)
			}
		}
	}
	return all
}

func contents(objects []Object) []map[string]any {
	return words.Of(objects, func(o Object) map[string]any { return o.Content })
}
