package verdict

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func (s Situation) requires(r v1alpha1.Requirement) bool {
	return slices.Contains(s.Removal.Require, r)
}

// LacksBackup says why a backup that is required does not count, or that there is none; empty if nothing is lacking.
func (s Situation) LacksBackup() string {
	if !s.requires(v1alpha1.Backup) {
		return ""
	}
	return s.CRD.Backup.Lacks(types.UID(s.CRD.UID), s.CRD.Generation, s.CRD.StorageVersion, s.Now)
}

// notBackedUp: what is lost with the versions can be brought back from a backup alone. Whoever takes one makes the CRD change, and
// this is asked again; a clock that is a little ahead is waited for.
func notBackedUp(s Situation) (Verdict, bool) {
	why := s.LacksBackup()
	if why == "" {
		return Verdict{}, false
	}
	v := progressing(v1alpha1.ReasonNotBackedUp,
		fmt.Sprintf("%s: every object is stored at %s; spec.require asks for a backup since the flip to it, and %[3]s", s.Removal.CRDName, s.CRD.StorageVersion, why),
		fmt.Sprintf("take one with `moult backup %s -f FILE --annotate`, or with the Job of examples/backup", s.Removal.CRDName))
	if b := s.CRD.Backup.Record; b != nil && b.Time.After(s.Now) && b.Time.Before(s.Now.Add(s.Every)) {
		v.Until = b.Time
	}
	return v, true
}
