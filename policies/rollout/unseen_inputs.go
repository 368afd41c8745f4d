package rollout

import (
	"fmt"
	"maps"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// inputsChanged: what is built is what is seen, but something else decides how much of it arrives (what a GitRepository
// leaves out, the values of variables) and changes. There is one finding for each such thing, whatever number of units it
// decides about. A unit that comes or goes is seen to do so.
func inputsChanged(s *situation) []finding.Finding {
	units := map[string][]*delivery.Unit{}
	for _, u := range s.head.Units {
		was := s.unitBefore(u)
		if was == nil || u.By != nil && was.By != nil && isUnseen(s.base, was) && isUnseen(s.head, u) {
			continue
		}
		names := maps.Clone(was.Inputs)
		if names == nil {
			names = map[string]string{}
		}
		maps.Copy(names, u.Inputs)
		for name := range names {
			if was.Inputs[name] != u.Inputs[name] {
				units[name] = append(units[name], u)
			}
		}
	}
	var findings []finding.Finding
	for _, name := range slices.Sorted(maps.Keys(units)) {
		first := units[name][0]
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, Place: first.By.Place("spec"),
			Why:  fmt.Sprintf("%s changes, and decides what arrives of %s, which this preview does not follow", name, words.Few(words.Of(units[name], func(u *delivery.Unit) string { return u.Name }), 3)),
			Mend: "see to it that all that is applied still arrives, or change it by a pull request of its own",
		})
	}
	return findings
}

// unitBefore is what a unit of the head is in the base. Where nobody says who applies the entry point, it is called after the
// tree that it is of.
func (s *situation) unitBefore(u *delivery.Unit) *delivery.Unit {
	if was := s.base.Unit(u.Name); was != nil || u != s.head.Units[0] || u.By != nil || len(s.base.Units) == 0 || s.base.Units[0].By != nil {
		return was
	}
	return s.base.Units[0]
}
