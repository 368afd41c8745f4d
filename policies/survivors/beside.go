package survivors

import (
	"cmp"
	"slices"
	"strings"
)

// Several may ask for versions of one CRD, and are answered by one look. A rule that names v1alpha1 and v1beta1 stops matching for
// one who wants both to leave, and goes on matching for one who wants v1alpha1 to leave alone. So a look keeps what is named beside,
// and each is answered by the versions that leave and stay for itself.

// joined are groups that differ in nothing but what is named beside as one, the worst first.
func joined(parts []Group, most int) []Group {
	slices.SortStableFunc(parts, func(a, b Group) int { return cmp.Or(a.compare(b), cmp.Compare(a.beside, b.beside)) })
	groups := []Group{}
	for _, part := range parts {
		if n := len(groups); n > 0 && groups[n-1].compare(part) == 0 && groups[n-1].Stash == part.Stash {
			groups[n-1] = groups[n-1].with(part)
			continue
		}
		groups = append(groups, part)
	}
	for i := range groups {
		groups[i].References = firstOf(groups[i].References, most)
	}
	return groups
}

// firstOf are as many references as are kept, in order.
func firstOf(references []Reference, most int) []Reference {
	references = slices.SortedFunc(slices.Values(references), Reference.compare)
	if most > 0 && len(references) > most {
		return references[:most]
	}
	return references
}

// compare orders groups as a report has them.
func (g Group) compare(other Group) int {
	return cmp.Or(cmp.Compare(g.Effect.weight(), other.Effect.weight()), cmp.Compare(g.Place, other.Place), cmp.Compare(g.CRD, other.CRD), cmp.Compare(g.Version, other.Version))
}

func (f Reference) compare(other Reference) int {
	return cmp.Or(cmp.Compare(f.Object.Resource, other.Object.Resource), cmp.Compare(f.Object.Namespace, other.Object.Namespace),
		cmp.Compare(f.Object.Name, other.Object.Name), cmp.Compare(f.Path, other.Path))
}

// with is a group and one more part of it.
func (g Group) with(part Group) Group {
	g.parts = append(g.split(), part)
	g.Count += part.Count
	g.References = slices.Concat(g.References, part.References)
	return g
}

// split are the parts of a group.
func (g Group) split() []Group {
	if len(g.parts) == 0 {
		return []Group{g}
	}
	return slices.Clone(g.parts)
}

// judgedBy are groups for one who wants these versions of the CRD to leave, and no others.
func judgedBy(leaving []string, groups []Group, most int) []Group {
	parts := []Group{}
	for _, g := range groups {
		for _, part := range g.split() {
			parts = append(parts, part.judgedBy(leaving))
		}
	}
	return joined(parts, most)
}

func (g Group) judgedBy(leaving []string) Group {
	stays := func(version string) bool { return !slices.Contains(leaving, version) }
	if g.beside == "" || !slices.ContainsFunc(strings.Split(g.beside, ","), stays) {
		return g
	}
	g.Effect, g.beside, g.References = Cosmetic, "", slices.Clone(g.References)
	for i := range g.References {
		g.References[i] = g.References[i].covered()
	}
	return g
}
