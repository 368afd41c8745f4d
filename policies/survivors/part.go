package survivors

import "slices"

// Part is what of a report a question is about: places that name a version, or those that hold whole objects at one.
type Part string

const (
	// References are all places that are no stashes.
	References Part = "references"
	// Stashes are the places that hold whole objects.
	Stashes Part = "stashes"
)

// has reports whether a place belongs to the part, by whether it is a stash.
func (p Part) has(stash bool) bool { return stash == (p == Stashes) }

// Of is the part of a report that is about some versions of a CRD. More versions may leave with them; all others stay, whatever
// else the look was about. What is not known is about all versions of all CRDs that the place may be about.
func (r *Report) Of(crd, group string, versions []string, more ...string) Report {
	of := Report{NotLooked: r.NotLooked, Notes: r.Notes, Targets: []Target{}, Found: []Group{}, Unknown: []Group{}, Possible: []Group{}, Places: []Coverage{}}
	for _, t := range r.Targets {
		if t.CRD == crd {
			t.Leaving = slices.DeleteFunc(slices.Clone(t.Leaving), func(v string) bool { return !slices.Contains(versions, v) })
			of.Targets = append(of.Targets, t)
		}
	}
	elsewhere := func(g Group) bool {
		other := g.CRD != crd || g.Version != "" && !slices.Contains(versions, g.Version)
		return g.CRD != "" && other || !isAbout(g.groups, group)
	}
	of.Found = judgedBy(slices.Concat(versions, more), leaveOut(elsewhere, r.Found), r.most)
	of.Unknown, of.Possible = leaveOut(elsewhere, r.Unknown), leaveOut(elsewhere, r.Possible)
	of.Places = leaveOut(func(l Coverage) bool { return !isAbout(l.groups, group) }, r.Places)
	of.Verdict = of.verdict()
	return of
}

// Only is one part of a report.
func (r *Report) Only(part Part) Report {
	of := *r
	another := func(g Group) bool { return !part.has(g.Stash) }
	of.Found, of.Unknown, of.Possible = leaveOut(another, r.Found), leaveOut(another, r.Unknown), leaveOut(another, r.Possible)
	of.Places = leaveOut(func(l Coverage) bool { return !part.has(l.Stash) }, r.Places)
	of.Verdict = of.verdict()
	return of
}

// Unread are the resources of which something that matters could not be read, though it was asked for, sorted.
func (r *Report) Unread() (resources []string) { return r.notLooked(false) }

// LeftOut are those that were not asked for, sorted.
func (r *Report) LeftOut() (resources []string) { return r.notLooked(true) }

func (r *Report) notLooked(leftOut bool) (resources []string) {
	for _, not := range r.NotLooked {
		has := func(l Coverage) bool { return l.Effect != Cosmetic && slices.Contains(l.Not, not.Resource) }
		if not.LeftOut == leftOut && slices.ContainsFunc(r.Places, has) {
			resources = append(resources, not.Resource)
		}
	}
	slices.Sort(resources)
	return slices.Compact(resources)
}

// isAbout reports whether something that is about some API groups, or about all, is about one of them.
func isAbout(groups []string, group string) bool {
	return len(groups) == 0 || slices.Contains(groups, group)
}

func leaveOut[T any](leave func(T) bool, from []T) []T {
	return slices.DeleteFunc(slices.Concat([]T{}, from), leave)
}
