package survivors

import (
	"slices"
	"strings"
)

// Verdict is the answer in a word. The set is closed.
type Verdict string

const (
	// StillNamed: some place names a leaving version, and that matters.
	StillNamed Verdict = "found"
	// NoneFound: all that was asked for was looked at, and nothing that matters names one.
	NoneFound Verdict = "none"
	// NotKnown: nothing was found, and not all could be looked at.
	NotKnown Verdict = "unknown"
)

// Report is what a survey has found.
type Report struct {
	Verdict Verdict  `json:"verdict"`
	Targets []Target `json:"targets"`
	// Found are the places that name a leaving version, the worst effect first.
	Found []Group `json:"found"`
	// Unknown are the places of which that is not known in some objects.
	Unknown []Group `json:"unknown"`
	// Possible is what looks as if it named one.
	Possible []Group `json:"possible"`
	// NotLooked are the resources that were not read.
	NotLooked []NotLooked `json:"notLooked"`
	// Places are all that the versions can lie at, and whether they were looked at.
	Places []Coverage `json:"places"`
	// Notes are what else a person should know.
	Notes []string `json:"notes,omitempty"`

	most int // references that are kept of a group; 0: all
}

// Group are the references of one effect at one place.
type Group struct {
	Effect Effect `json:"effect,omitempty"`
	// Place is empty for what no declared place has.
	Place string `json:"place,omitempty"`
	// Stash is true if the place holds whole objects.
	Stash bool `json:"stash,omitempty"`
	// Movable is true if it is known how Moult moves them.
	Movable     bool     `json:"movable,omitempty"`
	Title       string   `json:"title"`
	Consequence string   `json:"consequence,omitempty"`
	Clears      Clearer  `json:"clears,omitempty"`
	Remediation string   `json:"remediation,omitempty"`
	Evidence    []string `json:"evidence,omitempty"`
	CRD         string   `json:"crd,omitempty"`
	// Version is empty where that is not known.
	Version string `json:"version,omitempty"`
	// Count is how many fields there are; References may be fewer.
	Count      int64       `json:"count"`
	References []Reference `json:"references"`

	groups []string // API groups that the place is about; empty: any
	beside string   // as of a Reference
	parts  []Group  // by what is named beside; empty: it is one
}

// Coverage is whether a place was looked at.
type Coverage struct {
	Place string `json:"place"`
	// Stash is true if the place holds whole objects.
	Stash bool `json:"stash,omitempty"`
	// Effect is the worst of the place's.
	Effect  Effect  `json:"effect"`
	Outcome Outcome `json:"outcome"`
	// Objects is how many objects were read of the resources that have the place.
	Objects int64 `json:"objects"`
	// Not are the resources that were not.
	Not []string `json:"not,omitempty"`
	// Failed is true if one of them could not be read, though it was asked for.
	Failed bool `json:"failed,omitempty"`

	groups []string // as of a Group
}

// Outcome is what became of looking at a place. The set is closed.
type Outcome string

const (
	// LookedAt: at all objects that have it.
	LookedAt Outcome = "lookedAt"
	// InPart: some resources could not be read, or were left out.
	InPart Outcome = "inPart"
	// NotLookedAt: none could be read.
	NotLookedAt Outcome = "notLookedAt"
	// NotThere: the cluster has no such resource.
	NotThere Outcome = "notThere"
)

// Report ends the survey.
func (s *Survey) Report() Report {
	r := Report{Targets: s.walker.targets, NotLooked: slices.Concat([]NotLooked{}, s.unlooked), Places: []Coverage{}, most: s.most}
	r.Found, r.Unknown, r.Possible = s.groups(Found), s.groups(Unknown), s.groups(Possible)
	for i := range s.walker.places {
		r.Places = append(r.Places, s.lookedAt(&s.walker.places[i]))
	}
	r.Verdict = r.verdict()
	return r
}

// verdict is what the rest of the report amounts to.
func (r *Report) verdict() Verdict {
	switch {
	case slices.ContainsFunc(r.Found, Group.Matters):
		return StillNamed
	case slices.ContainsFunc(r.Places, Coverage.unread), slices.ContainsFunc(r.Unknown, Group.Matters):
		return NotKnown
	}
	return NoneFound
}

// Matters reports whether something depends on what is named.
func (g Group) Matters() bool { return g.Effect != Cosmetic }

// unread reports whether something of the place could not be read, and that matters.
func (l Coverage) unread() bool { return l.Failed && l.Effect != Cosmetic }

// groups are the references of a state, the worst first.
func (s *Survey) groups(state State) []Group {
	groups := []Group{}
	for _, sort := range s.all.Sorts() {
		key := sort.Key
		if key.state != state {
			continue
		}
		g := Group{Effect: key.effect, Place: key.place, Title: "other fields", CRD: key.crd, Version: key.version, Count: sort.Count, References: sort.Examples, beside: key.beside}
		for i := range s.walker.places {
			if p := &s.walker.places[i]; p.Name == key.place {
				g.Title, g.Consequence, g.Clears, g.Remediation, g.Evidence = p.Title, p.Consequence, p.Clears, p.Remediation, p.Evidence
				g.Stash, g.Movable, g.groups = p.Stash(), MoveOf(p) != nil, p.Groups
			}
		}
		if state == Unknown && key.crd != "" {
			g.References = slices.Clone(g.References)
			for i := range g.References {
				g.References[i].State, g.References[i].Why = Unknown, "more versions are named, in more combinations, than are kept apart"
			}
		}
		groups = append(groups, g)
	}
	return joined(groups, s.most)
}

// weight orders effects, the worst first and what is none last.
func (e Effect) weight() int {
	if i := slices.Index(Effects, e); i >= 0 {
		return i
	}
	return len(Effects)
}

// lookedAt reports whether a place was looked at.
func (s *Survey) lookedAt(p *Place) Coverage {
	looked := Coverage{Place: p.Name, Stash: p.Stash(), Effect: p.worst(), Outcome: NotThere, groups: p.Groups}
	for _, l := range s.looked {
		if p.In(l.Resource) {
			looked.Objects += l.objects
			looked.Outcome = LookedAt
		}
	}
	for _, not := range s.unlooked {
		if not.at.Resource != "" && !p.In(not.at) {
			continue
		}
		if not.at.Resource == "" && !slices.Contains(p.Resources, All) && !p.inGroup(not.Resource) {
			continue
		}
		looked.Not = append(looked.Not, not.Resource)
		looked.Failed = looked.Failed || !not.LeftOut
		if looked.Outcome != LookedAt && looked.Outcome != InPart {
			looked.Outcome = NotLookedAt
		} else {
			looked.Outcome = InPart
		}
	}
	return looked
}

// inGroup reports whether the place may be in a group whose resources are not known, written as *.<group>.
func (p *Place) inGroup(of string) bool {
	return slices.ContainsFunc(p.Resources, func(s Selector) bool {
		_, group, _ := strings.Cut(string(s), ".")
		_, unseen, _ := strings.Cut(of, ".")
		return matches(group, unseen) || strings.HasPrefix(string(s), category)
	})
}
