package crddiff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// identity: what the CRD's kind is and how it is called.
func identity(c *comparison) {
	base, head := c.base.Spec, c.head.Spec
	const immutable = "the API server refuses it for a CRD that exists; it takes a new CRD, and objects moved to it by hand"
	c.renamed(GroupChanged, finding.Error, base.Group, head.Group, immutable)
	c.renamed(KindChanged, finding.Error, base.Names.Kind, head.Names.Kind, immutable)
	c.renamed(PluralChanged, finding.Error, base.Names.Plural, head.Names.Plural, immutable)
	c.renamed(ScopeChanged, judge().crd("scope", c.base, c.head), string(base.Scope), string(head.Scope), immutable)
	c.renamed(ListKindChanged, finding.Warning, or(base.Names.ListKind, base.Names.Kind+"List"), or(head.Names.ListKind, head.Names.Kind+"List"),
		"clients that were generated for lists of the old kind cannot read them")
	c.renamed(SingularChanged, finding.Warning, or(base.Names.Singular, strings.ToLower(base.Names.Kind)), or(head.Names.Singular, strings.ToLower(head.Names.Kind)),
		"commands and scripts that use the old name fail")
	c.renamedSome(ShortNamesAdded, ShortNamesRemoved, base.Names.ShortNames, head.Names.ShortNames,
		"kubectl takes it in place of "+head.Names.Plural, "commands and scripts that use it fail")
	c.renamedSome(CategoriesAdded, CategoriesRemoved, base.Names.Categories, head.Names.Categories,
		"kubectl shows the objects when it is asked for it", "kubectl does not show the objects any more when it is asked for it")
}

func (c *comparison) renamed(rule Rule, severity finding.Severity, from, to, why string) {
	if from != to {
		c.add(Change{Rule: rule, Severity: severity, From: from, To: to, Why: why})
	}
}

func (c *comparison) renamedSome(more, fewer Rule, from, to []string, whyMore, whyFewer string) {
	if added := missing(to, from); len(added) > 0 {
		c.add(Change{Rule: more, Severity: finding.Info, To: strings.Join(added, ", "), Why: whyMore})
	}
	if removed := missing(from, to); len(removed) > 0 {
		c.add(Change{Rule: fewer, Severity: finding.Warning, From: strings.Join(removed, ", "), Why: whyFewer})
	}
}

// label: whether Moult is to look after the CRD.
func label(c *comparison) {
	was, is := c.from.OptedIn(), c.to.OptedIn()
	switch {
	case !was && is:
		c.add(Change{Rule: OptInLabelGained, Severity: finding.Info, From: text(c.from.Label), To: text(c.to.Label), Why: "Moult migrates the objects of the CRD from now on"})
	case was && !is:
		c.add(Change{
			Rule: OptInLabelLost, Severity: finding.Error, From: text(c.from.Label), To: text(c.to.Label),
			Why: "Moult stops at once and takes its condition back, so no version can be removed behind a gate",
		})
	}
}

// pruning: whether fields outside of the schema are kept, for the CRD as a whole.
func pruning(c *comparison) {
	was, is := c.base.Spec.PreserveUnknownFields, c.head.Spec.PreserveUnknownFields
	switch {
	case was && !is:
		c.add(Change{
			Rule: PruningOn, Severity: finding.Error, From: "true", To: "false",
			Why: "fields that the schema does not name are dropped from every object when it is read, and for good when it is written",
		})
	case !was && is:
		c.add(Change{
			Rule: PruningOff, Severity: finding.Error, From: "false", To: "true",
			Why: "apiextensions.k8s.io/v1 refuses it; x-kubernetes-preserve-unknown-fields in the schema does the same",
		})
	}
}

// missing are the distinct entries of some that others lack, sorted.
func missing(some, others []string) []string {
	left := map[string]bool{}
	for _, s := range some {
		if !slices.Contains(others, s) {
			left[s] = true
		}
	}
	return sortedKeys(left)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// text is what a pointer points to, empty for nil.
func text[T any](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}
