package crddiff

import (
	"cmp"
	"slices"

	"github.com/moult-dev/moult/policies/finding"
)

// Compare tells what differs between two states of a CRD; either may be nil. The label's key is that of the Moult that is
// to migrate the CRD. CRDs that no API server would take are compared as far as they go.
func Compare(base, head *definition, labelKey string) CRD {
	c := &comparison{base: base, head: head, trees: map[string]tree{}}
	c.from, c.to = shapeOf(base, labelKey), shapeOf(head, labelKey)
	crd := CRD{Base: c.from, Head: c.to}
	switch {
	case base == nil && head == nil:
		return crd
	case base == nil:
		crd.Name, crd.Kind = head.Name, head.Spec.Names.Kind
		c.add(Change{Rule: CRDAdded, Severity: finding.Info, Why: "it was not there before, so there is nothing to compare it with"})
	case head == nil:
		crd.Name, crd.Kind = base.Name, base.Spec.Names.Kind
		c.add(Change{
			Rule: CRDRemoved, Severity: finding.Warning,
			Why: "nothing updates it any more; if somebody or a tool that prunes deletes it, all its objects are deleted with it",
		})
	default:
		crd.Name, crd.Kind = head.Name, head.Spec.Names.Kind
		for _, look := range looks {
			look(c)
		}
	}
	crd.Changes = c.sorted()
	return crd
}

// looks are all that is compared. The order does not matter: the changes are sorted.
var looks = []func(*comparison){identity, label, pruning, conversion, versions, offers, fields, newVersions, losses, divergence}

// Removed are the versions that leave spec.versions, in the order of the base. A CRD that is added or removed as a whole
// has none.
func (c CRD) Removed() []string {
	if c.Base == nil || c.Head == nil {
		return nil
	}
	var names []string
	for _, v := range c.Base.Versions {
		if !c.Head.has(v.Name) {
			names = append(names, v.Name)
		}
	}
	return names
}

// Sets compares all CRDs of two renderings and returns those that differ, by name. Of several with the same name the
// last one counts, as when they are applied one after the other.
func Sets(base, head []*definition, labelKey string) []CRD {
	before, after := byName(base), byName(head)
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var differ []CRD
	for _, name := range sortedKeys(names) {
		if crd := Compare(before[name], after[name], labelKey); len(crd.Changes) > 0 {
			differ = append(differ, crd)
		}
	}
	return differ
}

func byName(crds []*definition) map[string]*definition {
	named := map[string]*definition{}
	for _, crd := range crds {
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
	changes    []Change
	// trees are the head's, of the versions that somebody has asked about.
	trees map[string]tree
}

func (c *comparison) add(changes ...Change) { c.changes = append(c.changes, changes...) }

// converts tells whether a webhook converts between versions from now on.
func (c *comparison) converts() bool { return c.to.Conversion != "None" }

// flips tells whether the storage version changes.
func (c *comparison) flips() bool {
	return c.from.Storage != "" && c.to.Storage != "" && c.from.Storage != c.to.Storage
}

// sorted is the order that CRD.Changes promises, and a total one.
func (c *comparison) sorted() []Change {
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(gravity(b.Severity), gravity(a.Severity)), cmp.Compare(c.place(a.Version), c.place(b.Version)),
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

func gravity(s finding.Severity) int {
	return slices.Index([]finding.Severity{finding.Info, finding.Warning, finding.Error}, s)
}

// atMost is the milder of the two.
func atMost(limit, s finding.Severity) finding.Severity {
	if gravity(s) > gravity(limit) {
		return limit
	}
	return s
}
