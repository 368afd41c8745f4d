package deprecation

import (
	"fmt"
	"strings"
	"time"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// departure is a version that stops being served, and what was due before.
type departure struct {
	version string
	Window
	// deprecated is the first release of those up to the last one that called it deprecated; nil if the last one did not.
	deprecated *Release
	// unknown: it was deprecated in the first release that is known, and perhaps long before.
	unknown bool
	// served is how many minor releases served it as a deprecated one, and days how long that was; -1 if it is not known.
	served, days int
}

func (s *step) departures() (all []departure) {
	for _, version := range s.leaving() {
		d := departure{version: version, Window: s.Policy.Windows.of(levelOf(version)), days: -1}
		since := s.deprecatedSince(version)
		if since >= 0 {
			d.deprecated, d.unknown = &s.past[since], since == 0 && s.Earlier
			d.served = minors(s.past[since:])
			if !d.deprecated.When.IsZero() && !s.to.When.IsZero() {
				d.days = max(0, int(s.to.When.Sub(d.deprecated.When)/(24*time.Hour)))
			}
		}
		all = append(all, d)
	}
	return all
}

// deprecatedSince is the place of a release among those before; -1 if the last of them did not call the version deprecated.
func (s *step) deprecatedSince(version string) int {
	since := -1
	for i := len(s.past) - 1; i >= 0; i-- {
		crd := s.past[i].crd(s.name)
		if crd == nil {
			break
		}
		if v := crds.Version(crd, version); v == nil || !v.Deprecated {
			break
		}
		since = i
	}
	return since
}

// minors counts minor releases; a release whose name is no number is one by itself.
func minors(releases []Release) (n int) {
	last := ""
	for _, r := range releases {
		name := r.Name
		if number := NumberOf(name); number != nil {
			name = fmt.Sprintf("%d.%d", number.Major(), number.Minor())
		}
		if name != last {
			n++
		}
		last = name
	}
	return n
}

// due reports whether a window is asked for at all.
func (d departure) due() bool { return d.Releases > 0 || d.Days > 0 }

// short reports whether the window is not over.
func (d departure) short() bool {
	return d.served < d.Releases || d.days >= 0 && d.days < d.Days
}

// asks says what the window is.
func (w Window) asks() string {
	var parts []string
	if w.Releases > 0 {
		parts = append(parts, words.Count(w.Releases, "minor release"))
	}
	if w.Days > 0 {
		parts = append(parts, words.Count(w.Days, "day"))
	}
	return strings.Join(parts, " and ")
}

// crdRemoved is about all versions at once.
func crdRemoved(s *step) []Violation {
	if s.is != nil {
		return nil
	}
	for _, d := range s.departures() {
		if d.due() && (d.deprecated == nil || d.short() && !d.unknown) {
			return one("",
				fmt.Sprintf("the CRD is removed, and %s of it was not deprecated for %s before. Nothing looks after its objects any more, and a tool that prunes deletes the CRD with all of them", d.version, d.asks()),
				"keep the CRD, call its versions deprecated, and say what takes its place; a CRD that is not to be deleted by a tool has to stay in the release")
		}
	}
	return nil
}

// each departure of a CRD that stays is reported by the first rule of these three that is about it.
func (s *step) violations(kind string) (found []Violation) {
	if s.is == nil {
		return nil
	}
	for _, d := range s.departures() {
		if d.kind(s) != kind {
			continue
		}
		f := one(d.version, d.why(s, kind), d.fix(s, kind))
		if d.unknown && kind == RemovedTooSoon { // it may have been deprecated long before
			f[0].Severity = finding.Warning
		}
		found = append(found, f...)
	}
	return found
}

func stableRemoved(s *step) []Violation   { return s.violations(StableRemoved) }
func neverDeprecated(s *step) []Violation { return s.violations(NeverDeprecated) }
func removedTooSoon(s *step) []Violation  { return s.violations(RemovedTooSoon) }

// kind is empty if nothing is wrong.
func (d departure) kind(s *step) string {
	switch {
	case levelOf(d.version) == stable && d.due() && s.sameMajor():
		return StableRemoved
	case d.due() && d.deprecated == nil:
		return NeverDeprecated
	case d.due() && d.short():
		return RemovedTooSoon
	default:
		return ""
	}
}

// sameMajor: a project at 0 has made no promise yet, and what has no number is taken for the next minor release.
func (s *step) sameMajor() bool {
	from, to := NumberOf(s.from.Name), NumberOf(s.to.Name)
	return from != nil && from.Major() > 0 && (to == nil && s.to.Unreleased || to != nil && to.Major() == from.Major())
}

func (d departure) why(s *step, kind string) string {
	leaves := d.version + " is not served any more"
	if !s.diff.Head.Has(d.version) {
		leaves = d.version + " leaves"
	}
	hurts := "; clients and manifests at it fail from one release to the next"
	switch kind {
	case StableRemoved:
		return leaves + " within a major release, and it is a stable version" + hurts
	case NeverDeprecated:
		return fmt.Sprintf("%s, and %s did not call it deprecated, so no client was warned%s", leaves, s.from.Name, hurts)
	default:
		said := fmt.Sprintf("%s, and it is deprecated since %s only: %s", leaves, d.deprecated.Name, words.Count(d.served, "minor release"))
		if d.unknown {
			said = fmt.Sprintf("%s, and it is deprecated since %s, or longer, since no release before was read: %s", leaves, d.deprecated.Name, words.Count(d.served, "minor release"))
		}
		if d.days >= 0 {
			said += " and " + words.Count(d.days, "day")
		}
		return said + ", where the policy asks for " + d.asks() + hurts
	}
}

func (d departure) fix(s *step, kind string) string {
	switch kind {
	case StableRemoved:
		fix := fmt.Sprintf("serve %s, called deprecated, until the next major release", d.version)
		if s.to.Unreleased && NumberOf(s.to.Name) == nil {
			fix += "; if this is that one, give its number with --next"
		}
		return fix
	case NeverDeprecated:
		return fmt.Sprintf("set `deprecated: true` on %s and serve it for %s", d.version, d.asks())
	default:
		return fmt.Sprintf("serve %s until %s have passed", d.version, d.asks())
	}
}

// deprecatedForLessStable is rule 3, of deprecations.
func deprecatedForLessStable(s *step) (found []Violation) {
	for _, c := range s.diff.Changes {
		if c.Rule != crddiff.VersionDeprecated || !s.stays(c.Version) {
			continue
		}
		successor := false
		for _, v := range s.diff.Head.Versions {
			successor = successor || v.Served && !v.Deprecated && levelOf(v.Name) >= levelOf(c.Version)
		}
		if successor {
			continue
		}
		f := one(c.Version,
			fmt.Sprintf("%s is deprecated, and no other version that is served and %s or more is there to move to: clients are warned and can do nothing", c.Version, levelOf(c.Version)),
			fmt.Sprintf("serve a version that is as stable before %s is called deprecated", c.Version))
		if v, _ := s.diff.Head.Version(c.Version); v.DeprecationWarning != "" { // it may lead to another CRD
			f[0].Severity = finding.Info
			f[0].Why = fmt.Sprintf("%s is deprecated, and no other version that is served and %s or more is there to move to; clients are warned: %s", c.Version, levelOf(c.Version), v.DeprecationWarning)
			f[0].Remediation = ""
		}
		found = append(found, f...)
	}
	return found
}
