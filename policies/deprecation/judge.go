package deprecation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
)

// Input is what is to be judged, and by what.
type Input struct {
	// Releases are in their order, the oldest first.
	Releases []Release
	// Earlier: there were releases before the first of them, about which nothing is known.
	Earlier bool
	// Newest: only what the last of them changes is reported; the others are what was before.
	Newest bool
	// Unchanged: the last of them is what is to come, too, so that nothing is new in it.
	Unchanged bool
	Policy    Policy
	LabelKey  string
}

// Violation is a finding about a step from one release to the next, or about the newest one.
type Violation struct {
	finding.Finding

	// From and To are the releases.
	From string `json:"from"`
	To   string `json:"to"`
	// Unreleased: no user has To yet.
	Unreleased bool `json:"unreleased,omitempty"`
	// Version is that of the CRD, and Path a field in its schema, as `kubectl explain` takes it; both empty if it is about all.
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	// Fields are those that it is about, if there are several.
	Fields []string `json:"fields,omitempty"`
}

// Report is what is to be said of a history. It is what -o json prints.
type Report struct {
	// OK is true when each finding that is an error is accepted.
	OK       bool             `json:"ok"`
	Releases []ReleaseSummary `json:"releases"`
	Findings []Violation      `json:"findings"`
	// Unused are words of the policy that mean nothing that was found.
	Unused []Accepted `json:"unused,omitempty"`
	// Notes are what could not be looked at, each in a sentence without a full stop.
	Notes []string `json:"notes,omitempty"`
}

// ReleaseSummary is a release that was looked at.
type ReleaseSummary struct {
	Name string `json:"name"`
	// Day is empty if it is not known.
	Day        string `json:"day,omitempty"`
	Unreleased bool   `json:"unreleased,omitempty"`
	CRDs       int    `json:"crds"`
}

// Errors counts the findings that are errors.
func (r Report) Errors() (n int) {
	for _, f := range r.Findings {
		if f.Severity == finding.Error {
			n++
		}
	}
	return n
}

// Judge holds each step from one release to the next to the rules.
func Judge(in Input) Report {
	report := Report{Releases: []ReleaseSummary{}, Findings: []Violation{}}
	used := map[int]bool{}
	for i, release := range in.Releases {
		report.Releases = append(report.Releases, summaryOf(release))
		if i == 0 || in.Newest && i < len(in.Releases)-1 {
			continue
		}
		found := in.between(i)
		in.accept(found, used)
		report.Findings = append(report.Findings, found...)
	}
	for i, a := range in.Policy.Accept {
		if !used[i] {
			report.Unused = append(report.Unused, a)
		}
	}
	report.OK = report.Errors() == 0
	return report
}

func summaryOf(r Release) ReleaseSummary {
	t := ReleaseSummary{Name: r.Name, Unreleased: r.Unreleased, CRDs: len(r.CRDs)}
	if !r.When.IsZero() && !r.Unreleased {
		t.Day = r.When.UTC().Format("2006-01-02")
	}
	return t
}

// between are the findings of one step, CRD by CRD, the gravest first.
func (in Input) between(i int) (found []Violation) {
	from, to := in.Releases[i-1], in.Releases[i]
	names := map[string]bool{}
	for _, crd := range slices.Concat(from.CRDs, to.CRDs) {
		names[crd.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := &step{Input: in, past: in.Releases[:i], from: from, to: to, name: name, was: from.crd(name), is: to.crd(name)}
		s.diff = crddiff.Compare(s.was, s.is, in.LabelKey)
		for _, r := range s.rules(i == len(in.Releases)-1) {
			found = append(found, s.judged(r)...)
		}
	}
	slices.SortStableFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(b.Severity.Weight(), a.Severity.Weight()), cmp.Compare(a.CRD, b.CRD))
	})
	return found
}

// rules are those that can say something: a CRD that is new has none behind it that relies on it.
func (s *step) rules(newest bool) (all []rule) {
	if s.was != nil && (!s.Newest || !s.Unchanged) {
		all = rules
	}
	if newest && s.is != nil {
		all = slices.Concat(all, present)
	}
	return all
}

// judged are the findings of one rule.
func (s *step) judged(r rule) (found []Violation) {
	severity, said := s.Policy.Severities[r.name]
	if severity == Off {
		return nil
	}
	for _, f := range r.find(s) {
		switch {
		case said:
			f.Severity = severity
		case f.Severity == "" || f.Severity.Weight() > r.severity.Weight():
			f.Severity = r.severity
		}
		if r.within && levelOf(f.Version) == alpha {
			f.Severity = finding.Info
		}
		f.Rule, f.CRD, f.From, f.To, f.Unreleased = r.name, s.name, s.from.Name, s.to.Name, s.to.Unreleased
		if f.Place == (finding.Place{}) {
			f.Place = s.place()
		}
		found = append(found, f)
	}
	return found
}

// accept makes information of what the policy accepts.
func (in Input) accept(found []Violation, used map[int]bool) {
	for at, f := range found {
		for i, a := range in.Policy.Accept {
			if a.means(f) {
				used[i] = true
				found[at].Acknowledged, found[at].Severity = a.Reason, finding.Info
			}
		}
	}
}
