package roundtrip

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/generate"
	"github.com/moult-dev/moult/policies/tally"
	"github.com/moult-dev/moult/policies/words"
)

// Report sums up what was found about several CRDs.
type Report struct {
	Verdict conversion.Verdict `json:"verdict"`
	CRDs    []CRDReport        `json:"crds"`
	// Unused are accepted losses that do not occur.
	Unused []conversion.Accepted `json:"unused,omitempty"`
	// Unknown is what could not be looked at and belongs to none of the CRDs.
	Unknown []string `json:"unknown,omitempty"`
}

// CRDReport is what was found about the conversion of one CRD.
type CRDReport struct {
	CRD     string `json:"crd"`
	Storage string `json:"storage"`
	// Served are the versions that objects were taken to.
	Served []string `json:"served"`
	// Fixtures and Generated are how many objects were taken there and back, and ThrownAway how many were made that the API server
	// would not take.
	Fixtures   int64 `json:"fixtures"`
	Generated  int64 `json:"generated,omitempty"`
	ThrownAway int64 `json:"thrownAway,omitempty"`
	// Missed are fields that no object was made with, by version: what chance gave them was never valid.
	Missed map[string][]string `json:"missed,omitempty"`
	// Findings are sorted, the worst first.
	Findings []Group `json:"findings,omitempty"`
	// Unknown is what could not be looked at.
	Unknown []Group `json:"unknown,omitempty"`
}

// Group is what is the same for some objects.
type Group struct {
	Kind Kind `json:"kind,omitempty"`
	// From is the version of the objects, and Via the one that they are taken to; empty where there is none.
	From string `json:"from,omitempty"`
	Via  string `json:"via,omitempty"`
	// What is a path, in which [*] is any index, or a sentence.
	What string `json:"what"`
	// Fault and Says are those of a conversion that fails.
	Fault conversion.Fault `json:"fault,omitempty"`
	Says  string           `json:"says,omitempty"`
	// Was and Is are the values of the example, before and after; absent where there is none.
	Was any `json:"was,omitempty"`
	Is  any `json:"is,omitempty"`
	// Objects is how many there are, and Examples are some of them, fixtures first.
	Objects  int64    `json:"objects"`
	Examples []string `json:"examples"`
	// Smallest is the smallest generated object that shows it; nil without one.
	Smallest map[string]any `json:"smallest,omitempty"`
	// Accepted is why it is accepted; empty if it is not.
	Accepted string `json:"accepted,omitempty"`
}

// Fails reports whether a finding holds something up.
func (f Group) Fails() bool { return f.Kind.Fails() && f.Accepted == "" }

const (
	// examples is how many objects are named of each finding.
	examples = 5
	// most is how many findings of a kind are listed apart for a CRD.
	most = 500
	// others is what there is beyond them.
	others = "more than can be told apart"
)

// Counts are what is found about one CRD. They are for one goroutine at a time.
type Counts struct {
	of        CRDReport
	findings  tally.Tally[key, string]
	first     map[key]Problem
	generated map[key]Object // one that shows it
	smallest  map[key]map[string]any
	confirmed map[string]bool
	from      map[string]bool
}

type key struct {
	kind            Kind
	from, via, what string
}

// NewCounts begins with no objects.
func NewCounts(e *conversion.Engine, confirmations []string) *Counts {
	c := &Counts{
		of:       CRDReport{CRD: e.CRD, Storage: e.Storage, Served: e.Served()},
		findings: tally.Tally[key, string]{MaxExamples: examples, MaxSorts: most, Other: func(k key) key { return key{kind: k.kind, what: others} }},
		first:    map[key]Problem{}, generated: map[key]Object{}, smallest: map[key]map[string]any{}, confirmed: map[string]bool{}, from: map[string]bool{},
	}
	for _, path := range confirmations {
		c.confirmed[path] = false
	}
	return c
}

// count counts objects, and which confirmations they have.
func (c *Counts) count(objects []Object, confirmations []string) {
	for _, o := range objects {
		c.from[versionOf(o)] = true
		if o.Generated {
			c.of.Generated++
		} else {
			c.of.Fixtures++
		}
		for _, path := range confirmations {
			c.confirmed[path] = c.confirmed[path] || has(o.Content, crdschema.Unquoted(path))
		}
	}
}

func keyOf(o Object, via string, p Problem) key {
	return key{p.Kind, versionOf(o), via, crdschema.AnyItem(p.What)}
}

func (c *Counts) add(o Object, via string, problems []Problem) {
	counted := map[key]bool{}
	for _, p := range problems {
		k := c.findings.As(keyOf(o, via, p))
		if counted[k] {
			continue
		}
		counted[k] = true
		if c.findings.Add(k, o.Name) {
			c.first[k] = p
		}
		if best, shown := c.generated[k]; o.Generated && (!shown || generate.Size(o.Content) < generate.Size(best.Content)) {
			c.generated[k] = o
		}
	}
}

// NotLookedAt counts something that could not be looked at.
func (c *Counts) NotLookedAt(version, why string, names ...string) {
	c.of.Unknown = append(c.of.Unknown, Group{From: version, What: why, Objects: int64(len(names)), Examples: append([]string{}, names...)})
}

// ThrownAway counts objects that were made and not used.
func (c *Counts) ThrownAway(n int64) { c.of.ThrownAway += n }

// Missed notes fields of a version that no object was made with.
func (c *Counts) Missed(version string, paths []string) {
	if len(paths) > 0 {
		if c.of.Missed == nil {
			c.of.Missed = map[string][]string{}
		}
		c.of.Missed[version] = paths
	}
}

// Report is what was found about a CRD. Losses that are accepted do not count; confirmations cannot be.
func (c *Counts) Report(accepted []conversion.Accepted, used map[conversion.Accepted]bool) CRDReport {
	of := c.of
	of.Unknown = slices.Clone(of.Unknown)
	for _, s := range c.findings.Sorts() {
		k, p := s.Key, c.first[s.Key]
		list := &of.Findings
		if k.kind == "" {
			list = &of.Unknown
		}
		*list = append(*list, Group{Kind: k.kind, From: k.from, Via: k.via, What: k.what, Fault: p.Fault, Says: p.Says, Was: p.Was, Is: p.Is, Objects: s.Count, Examples: s.Examples, Smallest: c.smallest[k]})
	}
	for path, seen := range c.confirmed {
		if !seen {
			of.Unknown = append(of.Unknown, Group{What: fmt.Sprintf("no object has %s, which confirms something destructive; add a fixture that does", path), Examples: []string{}})
		}
	}
	for _, version := range of.Served {
		if len(of.Served) > 1 && !c.from[version] {
			of.Unknown = append(of.Unknown, Group{From: version, What: "there is no object of it; add a fixture, or make some with --fuzz", Examples: []string{}})
		}
	}
	for i := range of.Findings {
		for _, a := range accepted {
			if a.CRD == of.CRD && a.Path == of.Findings[i].What && of.Findings[i].Kind.Fails() && of.Findings[i].Kind != Confirmation {
				of.Findings[i].Accepted, used[a] = a.Reason, true
			}
		}
	}
	for _, list := range [][]Group{of.Findings, of.Unknown} {
		slices.SortStableFunc(list, func(a, b Group) int {
			return cmp.Or(a.Kind.order()-b.Kind.order(), cmp.Compare(a.From, b.From), cmp.Compare(a.Via, b.Via), cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.What, b.What))
		})
	}
	return of
}

// ReportOf sums up.
func ReportOf(all []*Counts, accepted []conversion.Accepted, unknown []string) Report {
	r := Report{Verdict: conversion.Kept, CRDs: []CRDReport{}, Unknown: unknown}
	used := map[conversion.Accepted]bool{}
	fails, notKnown := false, len(unknown) > 0
	for _, c := range all {
		of := c.Report(accepted, used)
		fails = fails || slices.ContainsFunc(of.Findings, Group.Fails)
		notKnown = notKnown || len(of.Unknown) > 0
		r.CRDs = append(r.CRDs, of)
	}
	slices.SortFunc(r.CRDs, func(a, b CRDReport) int { return cmp.Compare(a.CRD, b.CRD) })
	for _, a := range accepted {
		if !used[a] {
			r.Unused = append(r.Unused, a)
		}
	}
	switch {
	case fails:
		r.Verdict = conversion.NotKept
	case notKnown:
		r.Verdict = conversion.NotKnown
	}
	return r
}

// Title says how many objects were taken where.
func (of CRDReport) Title() string {
	said := words.Count(of.Fixtures, "fixture")
	if of.Generated > 0 || of.ThrownAway > 0 {
		said += fmt.Sprintf(" and %s (invalid ones thrown away: %d)", words.Count(of.Generated, "generated object"), of.ThrownAway)
	}
	return said
}
