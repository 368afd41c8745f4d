package deprecation

import (
	"fmt"
	"slices"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
)

// storageWithoutOverlap is rule 4b of the deprecation policy: the storage version may not advance until after a release that
// supports both.
func storageWithoutOverlap(s *step) []Violation {
	if !s.diff.Flips() {
		return nil
	}
	from, to := s.diff.Base.Storage, s.diff.Head.Storage
	if slices.ContainsFunc(s.past, func(r Release) bool { return s.served(r, from) && s.served(r, to) }) {
		return nil
	}
	return one(to,
		fmt.Sprintf("%s is stored in the first release that serves it, so after a rollback to %s what was written cannot be read. API servers and clients that have not been upgraded yet cannot read it, either", to, s.from.Name),
		fmt.Sprintf("make a release that serves %s and %s and stores at %s, and store at %s in the one after it", from, to, from, to))
}

// lessStableStorage is rule 3: nothing is replaced by what promises less.
func lessStableStorage(s *step) []Violation {
	from, to := "", ""
	if s.diff.Flips() {
		from, to = s.diff.Base.Storage, s.diff.Head.Storage
	}
	if levelOf(to) >= levelOf(from) {
		return nil
	}
	found := one(to,
		fmt.Sprintf("the storage version goes from %s, which is %s, to %s, which is %s: objects are kept at a version that may leave at any time", from, levelOf(from), to, levelOf(to)),
		fmt.Sprintf("store at %s until there is a version that is as stable", from))
	if stored := s.storedAt(to); stored != "" { // an advance is taken back, as a rule because there was no way back from it
		found[0].Severity = finding.Warning
		found[0].Why = fmt.Sprintf("the storage version goes back from %s to %s, which %s stored: an advance is taken back, and clusters may store objects at both", from, to, stored)
		found[0].Remediation = fmt.Sprintf("store at %s again only after a release that serves both and stores at %s", from, to)
	}
	return found
}

// storedAt is the last release that stored at a version; empty if none did.
func (s *step) storedAt(version string) (release string) {
	for _, r := range s.past {
		if crd := r.crd(s.name); crd != nil && crds.StorageVersion(crd) == version {
			release = r.Name
		}
	}
	return release
}

func flippedAndRemoved(s *step) []Violation {
	if !s.diff.Flips() || s.diff.Head.Has(s.diff.Base.Storage) {
		return nil
	}
	from, to := s.diff.Base.Storage, s.diff.Head.Storage
	return one(from,
		fmt.Sprintf("the storage version moves to %s and %s is removed at once. The API server refuses the CRD wherever %s was installed, and no cluster can migrate its objects with one release", to, from, s.from.Name),
		fmt.Sprintf("keep %s, served or not, for a release that stores at %s, and have users migrate before the next; `moult bridge` prints the CRD in between", from, to))
}

// removedWhileStored: storedVersions names every version that was ever stored, until a migration is over.
func removedWhileStored(s *step) (found []Violation) {
	for _, version := range s.diff.Removed {
		stored := s.storedAt(version)
		if stored == "" || version == s.diff.Base.Storage {
			continue
		}
		found = append(found, one(version,
			fmt.Sprintf("%s was the storage version up to %s: the API server refuses this release in every cluster that had it and has not migrated its objects", version, stored),
			"ask users to migrate before the upgrade, for example with `moult migrate`, and in which release they have to be; `moult notes` writes it")...)
	}
	return found
}

// one is a finding by itself.
func one(version, why, fix string) []Violation {
	return []Violation{{Finding: finding.Finding{Why: why, Remediation: fix}, Version: version}}
}
