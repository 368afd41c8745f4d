package fieldownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/moult-dev/moult/policies/conversion"
)

// claim is what one entry of managedFields owns of an object, outside of its
// metadata, while it is being followed.
type claim struct {
	owned  *fieldpath.Set
	result *Followed

	// At the version it comes from: values, what holds other fields, the keys of
	// items that others own a part of, and what is there to be taken away.
	leaves, nodes, keys, removable *fieldpath.Set
	// candidate are leaves at the other version; missing and gained are what is
	// wrong with them.
	candidate, missing, gained *fieldpath.Set
	shared                     bool // what it owns is one with what it does not
}

// pair is an object at the two versions.
type pair struct {
	webhook       conversion.Converter // nil if the CRD has none
	from, to      string
	before, after *view // nil if they could not be had
	served        bool  // before was read, not made by the webhook
	err           error // why before could not be had, or either is not understood
	tooLarge      bool  // for the webhook
	most          int64 // what an object may take that the webhook answers with, decoded
	atOnce        int   // claims to ask about at once
}

// place finds what a claim is about. What it owns and the object has not needs no
// owner.
func (p *pair) place(c *claim) {
	c.leaves, c.nodes, c.keys = fieldpath.NewSet(), fieldpath.NewSet(), fieldpath.NewSet()
	if p.err != nil {
		c.leaves = c.owned
		return
	}
	for path := range paths(c.owned) {
		switch {
		case p.before.isLeaf(path):
			c.leaves.Insert(path)
		case p.before.has(path):
			c.nodes.Insert(path)
		}
	}
	c.removable = p.before.removable(c.nodes, c.leaves)
	for path := range paths(c.leaves) {
		if isKey(path) && !c.removable.Has(path[:len(path)-1]) {
			c.keys.Insert(path) // without it, the rest of the item would be no item
		}
	}
	c.leaves, c.removable = c.leaves.Difference(c.keys), c.removable.Difference(c.keys)
}

// isKey reports whether a path leads to a field that its item is known by.
func isKey(path fieldpath.Path) bool {
	if len(path) < 2 || path[len(path)-2].Key == nil || path[len(path)-1].FieldName == nil {
		return false
	}
	return slices.ContainsFunc(*path[len(path)-2].Key, func(f value.Field) bool { return f.Name == *path[len(path)-1].FieldName })
}

// same reports whether a claim is about the very same fields at both versions, by
// their paths and values, and then keeps it.
func (p *pair) same(c *claim) bool {
	if p.err != nil || !p.served {
		return false
	}
	for path := range paths(c.leaves.Union(c.keys)) {
		if !p.equal(path) {
			return false
		}
	}
	for path := range paths(c.nodes) {
		if !p.after.has(path) || p.after.isLeaf(path) {
			return false
		}
	}
	c.result.Fields = c.result.Fields.Union(c.leaves).Union(c.keys).Union(c.nodes)
	return true
}

// equal reports whether a path leads to the same value at both versions.
func (p *pair) equal(path fieldpath.Path) bool {
	if !p.after.isLeaf(path) {
		return false
	}
	before, found := at(p.before.object.Object, path)
	after, _ := at(p.after.object.Object, path)
	return found && value.Equals(value.NewValueInterface(before), value.NewValueInterface(after))
}

// conclude finds what is owned by what the webhook has shown.
func (p *pair) conclude(c *claim, base *view) {
	if !c.gained.Empty() {
		p.keepEqual(c, errShared)
		return
	}
	fields := c.candidate.Copy()
	if c.removable.Size() > c.leaves.Size() {
		fields = fields.Union(p.holders(c.candidate, base))
	}
	for node := range paths(c.nodes) {
		switch {
		case base.has(node) && !base.isLeaf(node):
			fields.Insert(node)
		case p.before.fields.Has(node) && !c.removable.Has(node):
			c.missing.Insert(node) // an item that has other owners too, and another name
		}
	}
	for key := range paths(c.keys) {
		if base.isLeaf(key) {
			fields.Insert(key)
		} else {
			c.missing.Insert(key)
		}
	}
	c.result.Fields = c.result.Fields.Union(fields)
	switch {
	case c.missing.Empty():
	case c.shared:
		c.result.Lost, c.result.Why = c.missing, errShared
	case p.served: // or no client can see it any more
		c.result.Lost, c.result.Why = c.missing, errNoCounterpart
	}
}

// keepEqual keeps no more than what has the same value at both versions.
func (p *pair) keepEqual(c *claim, why error) {
	leaves := c.leaves.Union(c.keys)
	c.result.Lost, c.result.Why = leaves, why
	if p.before == nil || p.after == nil {
		p.guess(c)
		return
	}
	fields := fieldpath.NewSet()
	for path := range paths(leaves) {
		if p.equal(path) {
			fields.Insert(path)
		}
	}
	c.result.Lost = leaves.Difference(fields)
	for path := range paths(c.nodes) {
		if p.after.has(path) && !p.after.isLeaf(path) {
			fields.Insert(path)
		}
	}
	c.result.Fields = c.result.Fields.Union(fields)
}

// guess keeps what has the same path, when nothing more is known than that. All of
// it is said to be lost all the same: it may be other fields.
func (p *pair) guess(c *claim) {
	for path := range paths(c.owned) {
		if p.after != nil && p.after.has(path) {
			c.result.Fields.Insert(path)
		}
	}
}

// holders are the items of lists and maps, at the other version only, that hold
// nothing but the leaves.
func (p *pair) holders(leaves *fieldpath.Set, base *view) *fieldpath.Set {
	items := fieldpath.NewSet()
	for item := range paths(above(leaves)) {
		if !p.before.has(item) {
			items.Insert(item)
		}
	}
	return base.removable(items, leaves).Difference(leaves)
}

// above are all paths that lead to the leaves.
func above(leaves *fieldpath.Set) *fieldpath.Set {
	all := fieldpath.NewSet()
	for leaf := range paths(leaves) {
		for i := 1; i < len(leaf); i++ {
			all.Insert(leaf[:i])
		}
	}
	return all
}
