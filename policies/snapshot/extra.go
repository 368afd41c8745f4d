package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
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

// extra are the warnings that a gate does not give.
func (s *Snapshot) extra(ask Ask, crd *CRD, gate *Removal, now time.Time) []v1alpha1.Blocker {
	return slices.Concat(
		s.outdated(ask, now), label(ask, crd, s.LabelKey), shut(gate), owned(ask, crd), requested(ask, crd), stuck(crd),
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
	why := "nobody has answered it"
	if gate.answered() {
		why = fmt.Sprintf("%s: %s", gate.Ready.Reason, gate.Ready.Message)
	}
	return warn(KindGateShut, fmt.Sprintf("the VersionRemoval %s in the cluster is not Ready; %s", gate.id(), why), "")
}

// owned: a VersionRemoval moves these entries; without one they break server-side apply, and then are wiped.
func owned(ask Ask, crd *CRD) (warnings []v1alpha1.Blocker) {
	if crd.Objects == nil {
		return nil
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
		const most = 5
		if len(who) > most {
			who = append(who[:most], fmt.Sprintf("and %d more", len(who)-most))
		}
		warnings = append(warnings, warn(KindOwned, fmt.Sprintf("%s of %s %s last written at %s by %s", count(n, "object"), crd.Name, were(n), version, strings.Join(who, "; ")),
			"let a VersionRemoval move the entries in managedFields before the version goes, and let whoever still writes do so at "+crd.storage().Name)...)
	}
	return warnings
}

// requested: clients that read leave no trace but in the metrics.
func requested(ask Ask, crd *CRD) (warnings []v1alpha1.Blocker) {
	for _, r := range crd.Requests {
		if !slices.Contains(ask.Versions, r.Version) {
			continue
		}
		action := fmt.Sprintf("find the client in the API server's audit log, and let it use %s", crd.storage().Name)
		if r.Watches > 0 {
			warnings = append(warnings, warn(KindWatched, watches(r, crd), action)...)
		}
		switch total := r.total(); {
		case total > 0:
			warnings = append(warnings, warn(KindRequested, fmt.Sprintf("an API server has counted %s of %s at %s (%s) since it was started", count(total, "request"), crd.Name, r.Version, r.verbs()), action)...)
		case r.Deprecated:
			warnings = append(warnings, warn(KindRequested, fmt.Sprintf("%s was requested at %s, which is marked as deprecated", crd.Name, r.Version), action)...)
		}
	}
	return warnings
}

func watches(r Requests, crd *CRD) string {
	if r.Watches == 1 {
		return fmt.Sprintf("a watch of %s at %s is open", crd.Name, r.Version)
	}
	return fmt.Sprintf("%d watches of %s at %s are open", r.Watches, crd.Name, r.Version)
}

// count is "1 object" or "3 objects".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func are(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func were(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func (r Requests) total() (n int64) {
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// verbs are "3 GET, 1 LIST".
func (r Requests) verbs() string {
	var words []string
	for _, verb := range slices.Sorted(maps.Keys(r.Counts)) {
		words = append(words, fmt.Sprintf("%d %s", r.Counts[verb], verb))
	}
	return strings.Join(words, ", ")
}

func stuck(crd *CRD) []v1alpha1.Blocker {
	if crd.Objects == nil || crd.Objects.Stuck == nil || crd.Objects.Stuck.Count == 0 {
		return nil
	}
	s := crd.Objects.Stuck
	named := ""
	if len(s.Examples) > 0 {
		named = ": " + strings.Join(s.Examples, ", ")
	}
	return warn(KindStuck, fmt.Sprintf("%s of %s %s stuck in deletion%s", count(s.Count, "object"), crd.Name, are(s.Count), named),
		fmt.Sprintf("bring up whatever is to remove their finalizers, and see that it works at %s", crd.storage().Name))
}

// unseen is what was not read and might have mattered for a CRD.
func (s *Snapshot) unseen(crd *CRD) (sentences []string) {
	for _, n := range s.NotRead {
		if n.What == Removals || n.What == APIServerMetrics || n.CRD == crd.Name {
			sentences = append(sentences, n.Why)
		}
	}
	return sentences
}

func warn(kind, message, action string) []v1alpha1.Blocker {
	return []v1alpha1.Blocker{{Kind: kind, Message: message, Action: action}}
}
