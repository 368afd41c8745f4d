package deprecation

import (
	"fmt"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crddiff/refusal"
	"github.com/moult-dev/moult/policies/words"
)

// mostNamed is how many fields a sentence names.
const mostNamed = 5

func upgradeRefused(s *step) (found []Violation) {
	if s.is == nil {
		return nil
	}
	for _, r := range refusal.Upgrade(s.was, s.is) {
		if !r.Known {
			found = append(found, one(r.Version,
				fmt.Sprintf("the API server refuses this release's CRD where that of %s is: %s: %s", s.from.Name, r.Path, r.Said),
				"fix the CRD before the release")...)
		}
	}
	return found
}

// noWayBack asks the API server's own validation. After the upgrade, storedVersions names the storage versions of both.
func noWayBack(s *step) (found []Violation) {
	if s.is == nil {
		return nil
	}
	for _, r := range refusal.Back(s.was, s.is) {
		found = append(found, one(s.diff.Head.Storage,
			fmt.Sprintf("once this release is installed the API server refuses the CRD of %s: %s: %s; a rollback leaves the old program with the new CRD", s.from.Name, r.Path, r.Said),
			fmt.Sprintf("add %s in one release and store at it in a later one, or warn users that there is no way back and that they need a backup before (`moult backup`)", s.diff.Head.Storage))...)
	}
	return found
}

// lostOnTheWayBack holds the storage version against what it was in the release before.
func lostOnTheWayBack(s *step) []Violation {
	if s.is == nil {
		return nil
	}
	stored := s.diff.Head.Storage
	var fields []string
	for _, c := range s.diff.Changes {
		if c.Rule == crddiff.FieldAdded && c.Version == stored && c.Against == "" {
			fields = append(fields, c.Field)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	found := one(stored,
		fmt.Sprintf("%s has %s that %s does not know: %s; after a rollback, every object that is written loses %s", stored,
			words.Count(len(fields), "field"), s.from.Name, words.Few(fields, mostNamed), words.Agree(len(fields), "it", "them")), "")
	found[0].Fields = fields
	return found
}
