package crddiff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/policies/finding"
)

// identity: what the CRD's kind is and how it is called.
func identity(c *comparison) {
	base, head := c.base.Spec, c.head.Spec
	const immutable = "the API server refuses it for a CRD that exists; it takes a new CRD, and objects moved to it by hand"
	c.renamed(GroupChanged, finding.Error, base.Group, head.Group, immutable)
	c.renamed(KindChanged, finding.Error, base.Names.Kind, head.Names.Kind, immutable)
	c.renamed(PluralChanged, finding.Error, base.Names.Plural, head.Names.Plural, immutable)
	c.renamed(ScopeChanged, finding.Error, string(base.Scope), string(head.Scope), immutable)
	c.renamed(ListKindChanged, finding.Warning, cmp.Or(base.Names.ListKind, base.Names.Kind+"List"), cmp.Or(head.Names.ListKind, head.Names.Kind+"List"),
		"clients that were generated for lists of the old kind cannot read them")
	c.renamed(SingularChanged, finding.Warning, cmp.Or(base.Names.Singular, strings.ToLower(base.Names.Kind)), cmp.Or(head.Names.Singular, strings.ToLower(head.Names.Kind)),
		"commands and scripts that use the old name fail")
	c.tellSome("", ShortNamesAdded, ShortNamesRemoved, base.Names.ShortNames, head.Names.ShortNames,
		"kubectl takes it in place of "+head.Names.Plural, "commands and scripts that use it fail")
	c.tellSome("", CategoriesAdded, CategoriesRemoved, base.Names.Categories, head.Names.Categories,
		"kubectl shows the objects when it is asked for it", "kubectl does not show the objects any more when it is asked for it")
}

func (c *comparison) renamed(rule Rule, severity finding.Severity, from, to, why string) {
	if from != to {
		c.tell("", rule, severity, from, to, why)
	}
}

// tell adds what has changed in a version, or if that is empty, in all of the CRD.
func (c *comparison) tell(version string, rule Rule, severity finding.Severity, from, to, why string) {
	c.add(Change{Rule: rule, Severity: severity, Version: version, From: from, To: to, Why: why})
}

// tellSome adds what a list of names has more of, and what it has less of.
func (c *comparison) tellSome(version string, more, fewer Rule, from, to []string, whyMore, whyFewer string) {
	if added := missing(to, from); len(added) > 0 {
		c.tell(version, more, finding.Info, "", strings.Join(added, ", "), whyMore)
	}
	if removed := missing(from, to); len(removed) > 0 {
		c.tell(version, fewer, finding.Warning, strings.Join(removed, ", "), "", whyFewer)
	}
}

// label: whether Moult is to look after the CRD.
func label(c *comparison) {
	from, to := ptr.Deref(c.from.Label, ""), ptr.Deref(c.to.Label, "")
	switch was, is := c.from.OptedIn(), c.to.OptedIn(); {
	case !was && is:
		c.tell("", OptInLabelGained, finding.Info, from, to, "Moult migrates the objects of the CRD from now on")
	case was && !is:
		c.tell("", OptInLabelLost, finding.Error, from, to, "Moult stops at once and takes its condition back, so no version can be removed behind a gate")
	}
}

// pruning: whether fields outside of the schema are kept, for the CRD as a whole.
func pruning(c *comparison) {
	switch was, is := c.base.Spec.PreserveUnknownFields, c.head.Spec.PreserveUnknownFields; {
	case was && !is:
		c.tell("", PruningOn, finding.Error, "true", "false", "fields that the schema does not name are dropped from every object when it is read, and for good when it is written")
	case !was && is:
		c.tell("", PruningOff, finding.Error, "false", "true", "apiextensions.k8s.io/v1 refuses it; x-kubernetes-preserve-unknown-fields in the schema does the same")
	}
}

// missing are the distinct entries of some that others lack, sorted.
func missing(some, others []string) []string {
	return sets.List(sets.New(some...).Difference(sets.New(others...)))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
