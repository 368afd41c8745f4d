package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// Kinds of warnings that no VersionRemoval shows.
const (
	// KindOutdated: the snapshot is older than wanted.
	KindOutdated = "SnapshotOutdated"
	// KindLabelLost: the pull request takes the opt-in label off.
	KindLabelLost = "OptInLost"
	// KindLabelTooLate: the pull request brings the opt-in label and a removal that waits for it.
	KindLabelTooLate = "OptInTooLate"
	// KindOwned: objects' managedFields name a version that leaves.
	KindOwned = "OwnedAtVersion"
	// KindRequested: an API server has counted requests at a version that leaves.
	KindRequested = "Requested"
	// KindWatched: a watch at a version that leaves is open.
	KindWatched = "Watched"
	// KindStuck: objects wait for somebody to finish their deletion.
	KindStuck = "ObjectsStuck"
	// KindGateShut: the VersionRemoval in the cluster is not Ready.
	KindGateShut = "GateShut"
)

// extra are the warnings that a gate does not give. Among them is that a VersionRemoval has to ask for the entries in
// managedFields, but only where no VersionRemoval does. It is left out, too, where nothing else remains, because the
// verdict reports it then.
func (s *Snapshot) extra(ask Ask, crd *CRD, gate *Removal, now time.Time, repairOnly bool) []v1alpha1.Blocker {
	asked := gate != nil || ask.Terms != nil || repairOnly
	return slices.Concat(
		s.outdated(ask, now), label(ask, crd, s.LabelKey), shut(gate), owned(ask, crd, asked), requested(ask, crd), stuck(ask, crd),
	)
}

// outdated: what is stored may have changed since. A clock that is wrong counts as well.
func (s *Snapshot) outdated(ask Ask, now time.Time) []v1alpha1.Blocker {
	age := now.Sub(s.TakenAt)
	switch {
	case age < -time.Minute:
		return warn(KindOutdated, fmt.Sprintf("the snapshot of %s says it was taken at %s, which is yet to come", s.Cluster, s.TakenAt.Format(time.RFC3339)),
			"set the clock, and take the snapshot again")
	case ask.MaxAge > 0 && age > ask.MaxAge:
		return warn(KindOutdated, fmt.Sprintf("the snapshot of %s is %s old", s.Cluster, age.Round(time.Second)), "take it again")
	default:
		return nil
	}
}

// label: what the pull request does to the label takes effect only after the gate.
func label(ask Ask, crd *CRD, key string) []v1alpha1.Blocker {
	switch {
	case ask.HeadLabel == nil || *ask.HeadLabel == crd.OptedIn:
		return nil
	case crd.OptedIn:
		return warn(KindLabelLost, fmt.Sprintf("the pull request takes the label %s off %s, so nothing is migrated any more once it is applied", key, crd.Name),
			"keep the label in the CRD's manifest")
	default:
		return warn(KindLabelTooLate, fmt.Sprintf("the pull request puts the label %s on %s, but the cluster gets it together with the removal, which waits for a migration that needs the label", key, crd.Name),
			"commit the label first, and the removal once the CRD is migrated")
	}
}

func shut(gate *Removal) []v1alpha1.Blocker {
	if gate == nil || gate.ready() {
		return nil
	}
	why := "no controller has answered it"
	if gate.answered() {
		why = fmt.Sprintf("%s: %s", gate.Ready.Reason, gate.Ready.Message)
	}
	return warn(KindGateShut, fmt.Sprintf("the VersionRemoval %s in the cluster is not Ready; %s", gate.id(), why), "")
}

// Clients are what is known of clients that use versions of a CRD: who wrote objects at them, who asks for them, and what refers
// to owners at them. Empty if the cluster does not show the CRD.
func (s *Snapshot) Clients(ask Ask) []v1alpha1.Blocker {
	crd := s.CRD(ask.CRD)
	if crd == nil {
		return nil
	}
	return slices.Concat(owned(ask, crd, true), requested(ask, crd), followed(ask, crd))
}

// followed: at a version that is not served, an owner is not found. A VersionRemoval may look for that, but it comes later.
func followed(ask Ask, crd *CRD) (warnings []v1alpha1.Blocker) {
	if crd.References == nil {
		return nil
	}
	_, group, _ := strings.Cut(crd.Name, ".")
	for _, g := range crd.References.Of(crd.Name, group, ask.Versions).Found {
		if g.Clears == survivors.ByMoult {
			warnings = append(warnings, warn(g.Place, fmt.Sprintf("%s of %s %s %s, at which the owner is looked for", words.Count(g.Count, "field"), g.Title, words.Agree(g.Count, "names", "name"), g.Version), g.Remediation)...)
		}
	}
	return warnings
}

// owned: a VersionRemoval moves these entries; without one they break server-side apply, and then are wiped.
func owned(ask Ask, crd *CRD, asked bool) (warnings []v1alpha1.Blocker) {
	if crd.Objects == nil {
		return nil
	}
	action := "let these clients write at " + ask.client(crd)
	if !asked {
		action = "let a VersionRemoval move the entries in managedFields before the version goes, and " + action
	}
	for _, version := range ask.Versions {
		n := crd.Objects.OwnedAt[version]
		if n == 0 || version == crd.storage().Name {
			continue
		}
		var who []string
		for _, w := range crd.Objects.Writers {
			if w.Version == version {
				who = append(who, fmt.Sprintf("%s, last %s at %s", w.words(), w.example(), w.Last.UTC().Format(time.RFC3339)))
			}
		}
		warnings = append(warnings, warn(KindOwned, fmt.Sprintf("%s of %s %s last written at %s by %s", words.Count(n, "object"), crd.Name, words.Agree(n, "was", "were"), version, words.FewClauses(who, 5)), action)...)
	}
	return warnings
}

// requested: clients that read leave no trace but in the metrics.
func requested(ask Ask, crd *CRD) (warnings []v1alpha1.Blocker) {
	for _, r := range crd.Requests {
		if !slices.Contains(ask.Versions, r.Version) {
			continue
		}
		action := fmt.Sprintf("find the client in the API server's audit log, and let it use %s", ask.client(crd))
		if r.Watches > 0 {
			warnings = append(warnings, warn(KindWatched, watches(r, crd), action)...)
		}
		switch total := r.total(); {
		case total > 0:
			warnings = append(warnings, warn(KindRequested, fmt.Sprintf("an API server has counted %s of %s at %s (%s) since it was started%s", words.Count(total, "request"), crd.Name, r.Version, r.verbs(), r.maybeOurs()), action)...)
		case r.Deprecated:
			warnings = append(warnings, warn(KindRequested, fmt.Sprintf("%s was requested at %s, which is marked as deprecated", crd.Name, r.Version), action)...)
		}
	}
	return warnings
}

// maybeOurs: Moult's checks are patches at the storage version, and snapshots lists at it. It may have been this one when
// the API server counted them, and the metric does not tell clients apart.
func (r Requests) maybeOurs() string {
	var ours []string
	if r.Counts["PATCH"] > 0 {
		ours = append(ours, "a PATCH may be Moult's own check")
	}
	if r.Counts["LIST"] > 0 {
		ours = append(ours, "a LIST may be of an earlier snapshot")
	}
	if len(ours) == 0 {
		return ""
	}
	return "; " + strings.Join(ours, " and ") + ", from when it was the storage version"
}

func watches(r Requests, crd *CRD) string {
	if r.Watches == 1 {
		return fmt.Sprintf("a watch of %s at %s is open", crd.Name, r.Version)
	}
	return fmt.Sprintf("%d watches of %s at %s are open", r.Watches, crd.Name, r.Version)
}

func (r Requests) total() (n int64) {
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// verbs are "3 GET, 1 LIST".
func (r Requests) verbs() string {
	verbs := slices.Sorted(maps.Keys(r.Counts))
	return strings.Join(words.Of(verbs, func(verb string) string { return fmt.Sprintf("%d %s", r.Counts[verb], verb) }), ", ")
}

func stuck(ask Ask, crd *CRD) []v1alpha1.Blocker {
	if crd.Objects == nil || crd.Objects.Stuck == nil || crd.Objects.Stuck.Count == 0 {
		return nil
	}
	s := crd.Objects.Stuck
	named := ""
	if len(s.Examples) > 0 {
		named = ": " + strings.Join(s.Examples, ", ")
	}
	return warn(KindStuck, fmt.Sprintf("%s of %s %s stuck in deletion%s", words.Count(s.Count, "object"), crd.Name, words.Agree(s.Count, "is", "are"), named),
		fmt.Sprintf("bring up whatever is to remove their finalizers, and see that it works at %s", ask.client(crd)))
}

func warn(kind, message, action string) []v1alpha1.Blocker {
	return []v1alpha1.Blocker{{Kind: kind, Message: message, Action: action}}
}
