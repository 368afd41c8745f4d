package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// References are what a look through the cluster has found of the versions that are
// to go, beside the objects of the CRD.
type References struct {
	// At is when the look began.
	At time.Time
	// Report is about the CRD and the versions in question alone.
	Report survivors.Report
	// Failure says why there is no report; else empty.
	Failure string
}

// lookEvery is how long after a look that holds the gate the next one begins, unless
// looks are to be made more often anyway.
const lookEvery = 30 * time.Second

func (s Situation) lookAgain() time.Time {
	pause := lookEvery
	if s.Every > 0 {
		pause = min(pause, s.Every)
	}
	return s.References.At.Add(pause)
}

// requirement is one that references or stashes can break.
type requirement struct {
	name   v1alpha1.Requirement
	part   survivors.Part
	reason string
	what   string
}

// requirements are all of them.
var requirements = []requirement{
	{v1alpha1.NoReferences, survivors.References, v1alpha1.ReasonStillReferenced, "other objects name"},
	{v1alpha1.NoStashes, survivors.Stashes, v1alpha1.ReasonStillStashed, "other objects hold copies at"},
}

// required are those that this VersionRemoval makes.
func (s Situation) required() (made []requirement) {
	for _, r := range requirements {
		if slices.Contains(s.Removal.Require, r.name) {
			made = append(made, r)
		}
	}
	return made
}

// notLookedForReferences: what names the versions is looked for right before the
// gate opens. An open gate stays open until something is found.
func notLookedForReferences(s Situation) (Verdict, bool) {
	if len(s.required()) == 0 || s.rememberedReferences() {
		return Verdict{}, false
	}
	if !s.Looks {
		return stalled(v1alpha1.ReasonReferencesUnknown,
			fmt.Sprintf("whether other objects name %s of %s is not known: this controller does not look", list(s.Removal.Versions), s.Removal.CRDName),
			"install Moult with clusters/components/references, which makes it look and grants the rights"), true
	}
	v := s.held(v1alpha1.ReasonReferencesUnknown, fmt.Sprintf("every object is stored at %s; looking through the cluster for what else names %s, right before the gate opens",
		s.CRD.StorageVersion, list(s.Removal.Versions)))
	v.Blockers, v.LookFrom = nil, s.opensFrom()
	return v, s.References == nil || s.References.At.Before(v.LookFrom)
}

// rememberedReferences reports whether a look was part of what is remembered.
func (s Situation) rememberedReferences() bool {
	return s.remembered() && s.Remembered.ReferencesAt != nil
}

// stillReferenced: something would break, or be lost, when the versions go.
func stillReferenced(s Situation) (Verdict, bool) { return s.stillNamed(requirements[0]) }

// stillStashed: copies could not be read any more when the versions are gone.
func stillStashed(s Situation) (Verdict, bool) { return s.stillNamed(requirements[1]) }

func (s Situation) stillNamed(r requirement) (Verdict, bool) {
	if s.References == nil || !slices.Contains(s.Removal.Require, r.name) {
		return Verdict{}, false
	}
	report := s.References.Report.Only(r.part)
	if report.Verdict != survivors.StillNamed {
		return Verdict{}, false
	}
	v := Verdict{State: Progressing, Reason: r.reason, LookFrom: s.lookAgain()}
	var places []string
	for _, g := range report.Found {
		if !g.Matters() {
			continue
		}
		if !s.clearsByItself(g) {
			v.State = Stalled
		}
		places = append(places, fmt.Sprintf("%s (%d, %s)", g.Place, g.Count, g.Effect))
		v.Blockers = append(v.Blockers, s.named(g))
	}
	// It does not say when: the message would be another one after each look.
	v.Message = fmt.Sprintf("%s: %s %s: %s; see blockers for which and what to do", s.Removal.CRDName, r.what, list(s.Removable()), words.Few(words.Distinct(places), 5))
	v.Blockers = v.Blockers[:min(len(v.Blockers), maxWarnings)]
	return v, true
}

// referencesUnknown: what could not be looked at may name the versions.
func referencesUnknown(s Situation) (Verdict, bool) {
	made := s.required()
	if len(made) == 0 || s.References == nil || s.rememberedReferences() {
		return Verdict{}, false
	}
	var unknown []v1alpha1.Blocker
	for _, r := range made {
		unknown = append(unknown, s.unknown(r.part)...)
	}
	unknown = words.Distinct(unknown)
	if len(unknown) == 0 {
		return Verdict{}, false
	}
	message := fmt.Sprintf("whether other objects name %s of %s is not known: %s", list(s.Removal.Versions), s.Removal.CRDName, unknown[0].Message)
	return Verdict{State: Progressing, Reason: v1alpha1.ReasonReferencesUnknown, Message: sentence(message, unknown[0].Action),
		Blockers: unknown[:min(len(unknown), maxWarnings)], LookFrom: s.lookAgain()}, true
}

// unknown is what of one part is not known.
func (s Situation) unknown(part survivors.Part) (unknown []v1alpha1.Blocker) {
	if s.References.Failure != "" {
		return []v1alpha1.Blocker{{Kind: v1alpha1.ReasonReferencesUnknown, Message: s.References.Failure, Action: "it is tried again by itself"}}
	}
	report := s.References.Report.Only(part)
	for _, g := range report.Unknown {
		if !g.Matters() {
			continue
		}
		unknown = append(unknown, s.undecoded(g))
	}
	if unread := report.Unread(); len(unread) > 0 {
		unknown = append(unknown, v1alpha1.Blocker{Kind: v1alpha1.ReasonReferencesUnknown,
			Message: fmt.Sprintf("%s could not be looked at: %s", words.Count(len(unread), "resource"), words.Few(unread, 10)),
			Action:  "grant list and get with what `moult rbac --references` prints, delete an APIService that hides them, serve a version of an unserved CRD, or leave them out with the controller's --references-except"})
	}
	return unknown
}

// undecoded are fields that may name the versions.
func (s Situation) undecoded(g survivors.Group) v1alpha1.Blocker {
	return v1alpha1.Blocker{Kind: g.Place, Action: fmt.Sprintf("fix the objects, or delete those that are not needed; `moult survivors %s --secrets` names them", s.Removal.CRDName),
		Message: fmt.Sprintf("%s could not be read%s", words.Count(g.Count, "field"), s.example(g))}
}

// clearsByItself reports whether a place stops naming the versions without a commit.
func (s Situation) clearsByItself(g survivors.Group) bool {
	return g.Clears == survivors.ByController || s.movedByMoult(g)
}

// movedByMoult reports whether the controller moves what lies at a place: owner references and stashed copies, where the CRD asks
// for it.
func (s Situation) movedByMoult(g survivors.Group) bool {
	if g.Stash {
		return s.CRD.MigratesStashes && g.Movable
	}
	return s.CRD.RepairsOwners && g.Clears == survivors.ByMoult
}

// named is a place that names a version, for a status.
func (s Situation) named(g survivors.Group) v1alpha1.Blocker {
	action := g.Remediation
	switch {
	case !s.movedByMoult(g):
	case g.Clears == survivors.ByController:
		action = "the project's controller moves them, or Moult does; Events on the CRD show what holds one up"
	default:
		action = "Moult moves them by itself; Events on the CRD show what holds one up"
	}
	return v1alpha1.Blocker{Kind: g.Place, Action: action, Message: fmt.Sprintf("%s: %s of %s%s: %s", g.Effect, words.Count(g.Count, "field"), g.Title, s.naming(g), g.Consequence)}
}

// naming is " name v1alpha1, for example services garden/rose in spec.to".
func (s Situation) naming(g survivors.Group) string {
	return " " + words.Agree(g.Count, "names", "name") + " " + g.Version + s.example(g)
}

// example is one of those that may be named, if any may; else why none is, and the command that lists them. They may be in Secrets.
func (s Situation) example(g survivors.Group) string {
	if len(g.References) == 0 {
		return fmt.Sprintf(" (names are left out, because readers of this VersionRemoval may not be allowed to see the objects; `moult survivors %s --secrets` lists them to an administrator)", s.Removal.CRDName)
	}
	first := g.References[0]
	text := fmt.Sprintf(", for example %s in %s", first.Object, first.Path)
	if first.Why != "" {
		text += " (" + first.Why + ")"
	}
	return text
}

// warnOfReferences puts behind all else what will surprise after the removal, and what was not looked at. Until this
// process has looked, what was said before holds.
func (s Situation) warnOfReferences(v Verdict) []v1alpha1.Blocker {
	warnings := v.Warnings
	switch {
	case !s.Looks, s.CRD == nil, s.CRD.Deleting, len(s.present()) == 0:
	case s.References == nil:
		warnings = append(warnings, s.Noted...)
	case v.Reason == v1alpha1.ReasonReferencesUnknown:
	case s.References.Failure != "":
		warnings = append(warnings, s.unknown(survivors.References)...)
	default:
		warnings = append(warnings, s.surprises(v)...)
	}
	return warnings[:min(len(warnings), maxWarnings)]
}

// surprises are the places that matter and hold nothing back, the worst first, and
// what was not looked at.
func (s Situation) surprises(v Verdict) (warnings []v1alpha1.Blocker) {
	surprises := func(g survivors.Group) bool {
		held := slices.ContainsFunc(v.Blockers, func(b v1alpha1.Blocker) bool { return b.Kind == g.Place })
		return !held && (g.Effect == survivors.LosesData || g.Effect == survivors.StopsSilently)
	}
	for _, g := range s.References.Report.Found {
		if surprises(g) {
			warnings = append(warnings, s.named(g))
		}
	}
	for _, g := range s.References.Report.Unknown {
		if surprises(g) {
			warnings = append(warnings, s.undecoded(g))
		}
	}
	not := slices.Concat(s.References.Report.Unread(), s.References.Report.LeftOut())
	if len(not) > 0 {
		slices.Sort(not)
		warnings = append(warnings, v1alpha1.Blocker{Kind: v1alpha1.ReasonReferencesUnknown,
			Message: fmt.Sprintf("not looked at for what names %s: %s", list(s.Removal.Versions), words.Few(not, 10))})
	}
	return warnings
}

// Noted are the warnings of a status that a look through the cluster has put there.
func Noted(warnings []v1alpha1.Blocker) (noted []v1alpha1.Blocker) {
	for _, w := range warnings {
		isPlace := func(p survivors.Place) bool { return p.Name == w.Kind }
		if w.Kind == v1alpha1.ReasonReferencesUnknown || slices.ContainsFunc(survivors.Embedded(), isPlace) {
			noted = append(noted, w)
		}
	}
	return noted
}

// referencesAt is the look that an open gate names, if it has to have made one. As with
// managedFields, it goes on naming the one that it was opened by until that is old.
func (s Situation) referencesAt() (at time.Time) {
	if len(s.required()) == 0 {
		return at
	}
	if s.rememberedReferences() && !s.Remembered.ReferencesAt.After(s.Now) {
		at = s.Remembered.ReferencesAt.Time
	}
	look := s.References
	if look == nil || !s.clean() {
		return at
	}
	if at.IsZero() || at.Before(s.Asked.Truncate(time.Second)) || look.At.Sub(at) >= s.Every {
		return look.At
	}
	return at
}

// clean reports whether the latest look found all that is required.
func (s Situation) clean() bool {
	return s.References.Failure == "" && !slices.ContainsFunc(s.required(), func(r requirement) bool {
		report := s.References.Report.Only(r.part)
		return report.Verdict != survivors.NoneFound
	})
}

// Disclose is the part that those may read who may read one namespace: objects of that
// namespace by name, all others as counts.
func (r *References) Disclose(namespace string) *References {
	disclosed := *r
	if r.Failure != "" {
		disclosed.Failure = "the cluster could not be looked through; the controller's log has the reason"
	}
	report := &disclosed.Report
	report.Found, report.Unknown, report.Possible = within(namespace, report.Found), within(namespace, report.Unknown), nil
	return &disclosed
}

// within are the same groups with the references of one namespace alone.
func within(namespace string, groups []survivors.Group) []survivors.Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].References = slices.DeleteFunc(slices.Clone(groups[i].References), func(f survivors.Reference) bool {
			return namespace == "" || f.Object.Namespace != namespace
		})
	}
	return groups
}
