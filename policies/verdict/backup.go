package verdict

import (
	"fmt"
	"slices"
	"time"

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
	return s.CRD.Backup.Lacks(types.UID(s.CRD.UID), s.CRD.Generation, s.CRD.StorageVersion, s.machine())
}

// machine is what the machine's clock shows. Backups are taken by clocks of other machines, and one in the future does not count.
func (s Situation) machine() time.Time { return latest(s.Now, s.Machine) }

// notBackedUp: what is lost with the versions can be brought back from a backup alone. A backup changes the CRD, and
// then this is asked again. A clock that is a little ahead is waited for.
func notBackedUp(s Situation) (Verdict, bool) {
	why := s.LacksBackup()
	if why == "" {
		return Verdict{}, false
	}
	v := progressing(v1alpha1.ReasonNotBackedUp,
		fmt.Sprintf("%s: every object is stored at %s; spec.require asks for a backup since the flip to it, and %[3]s", s.Removal.CRDName, s.CRD.StorageVersion, why),
		fmt.Sprintf("take one with `moult backup %s -f FILE --annotate`, or with the Job of examples/backup", s.Removal.CRDName))
	if b, now := s.CRD.Backup.Record, s.machine(); b != nil && b.Time.After(now) && b.Time.Before(now.Add(s.Every)) {
		v.Until = s.Now.Add(b.Time.Sub(now))
	}
	return v, true
}
