package crddiff

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
)

// Compare reports what differs between two states of a CRD; either may be nil. The label's key is that of the Moult
// that is to migrate the CRD. CRDs that no API server would take are compared as far as they go.
func Compare(base, head *definition, labelKey string) Diff {
	c := &comparison{base: base, head: head, trees: map[string]tree{}}
	c.from, c.to, c.removed = shapeOf(base, labelKey), shapeOf(head, labelKey), crds.Leaving(base, head)
	diff := Diff{Base: c.from, Head: c.to, Removed: c.removed, Unserved: crds.StopsServing(base, head)}
	switch {
	case base == nil && head == nil:
		return diff
	case base == nil:
		diff.Name, diff.Kind = head.Name, head.Spec.Names.Kind
		c.add(Change{Rule: CRDAdded, Severity: finding.Info, Why: "it was not there before, so there is nothing to compare it with"})
	case head == nil:
		diff.Name, diff.Kind = base.Name, base.Spec.Names.Kind
		c.add(Change{
			Rule: CRDRemoved, Severity: finding.Warning,
			Why: "nothing updates it any more; deleting it, for example by a tool that prunes, deletes all its objects",
		})
	default:
		diff.Name, diff.Kind = head.Name, head.Spec.Names.Kind
		for _, compare := range comparisons {
			compare(c)
		}
	}
	diff.Changes = c.sorted()
	return diff
}

// comparisons are all that is compared. The order does not matter: the changes are sorted.
var comparisons = []func(*comparison){identity, label, pruning, conversion, versions, subresources, fields, newVersions, losses, divergence}

// Sets compares all CRDs of two renderings and returns those that differ, by name. Of several with the same name the
// last one counts, as when they are applied one after the other.
func Sets(base, head []*definition, labelKey string) []Diff {
	before, after := byName(base), byName(head)
	all := maps.Clone(before)
	maps.Copy(all, after)
	var differ []Diff
	for _, name := range sortedKeys(all) {
		if before[name] != nil && after[name] != nil && reflect.DeepEqual(before[name], after[name]) {
			continue
		}
		if diff := Compare(before[name], after[name], labelKey); len(diff.Changes) > 0 {
			differ = append(differ, diff)
		}
	}
	return differ
}

func byName(all []*definition) map[string]*definition {
	named := map[string]*definition{}
	for _, crd := range all {
		if crd != nil {
			named[crd.Name] = crd
		}
	}
	return named
}

// comparison is one run of Compare with two CRDs.
type comparison struct {
	base, head *definition
	from, to   *Shape
	removed    []string
	changes    []Change
	// trees are the head's, of the versions that somebody has asked about.
	trees map[string]tree
}

func (c *comparison) add(changes ...Change) { c.changes = append(c.changes, changes...) }

// converts reports whether a webhook converts between versions from now on.
func (c *comparison) converts() bool { return c.to.Conversion != "None" }

// flips reports whether the storage version changes.
func (c *comparison) flips() bool { return Diff{Base: c.from, Head: c.to}.Flips() }

// sorted is the order that CRD.Changes promises, and a total one.
func (c *comparison) sorted() []Change {
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(b.Severity.Weight(), a.Severity.Weight()), cmp.Compare(c.place(a.Version), c.place(b.Version)),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Against, b.Against),
			cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Why, b.Why))
	})
	return slices.CompactFunc(c.changes, func(a, b Change) bool { return a == b })
}

// place puts what concerns all versions first, then the versions as the CRD lists them, then those that go.
func (c *comparison) place(version string) int {
	if version == "" {
		return 0
	}
	at := 1
	for _, shape := range []*Shape{c.to, c.from} {
		if shape == nil {
			continue
		}
		for _, v := range shape.Versions {
			if v.Name == version {
				return at
			}
			at++
		}
	}
	return at
}

// atMost is the milder of the two.
func atMost(limit, s finding.Severity) finding.Severity {
	if s.Weight() > limit.Weight() {
		return limit
	}
	return s
}
