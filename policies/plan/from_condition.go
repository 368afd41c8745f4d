package plan

import (
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Said is a condition of ours as it is on the CRD.
type Said struct {
	// True reports whether its status is.
	True            bool
	Reason, Message string
}

// FromCondition reads what an earlier process has left in the condition of an observed CRD; nil if there is none of ours. It
// proves nothing if it speaks of another generation, or is beside a storedVersions that does not fit it.
func FromCondition(o Observation, said *Said) Recorded {
	if said == nil || !v1alpha1.SpeaksOf(said.Message, o.Generation) {
		return Recorded{}
	}
	progress, _ := v1alpha1.ParseProgress(said.Message)
	return Recorded{
		Generation: o.Generation,
		Proved:     said.True && o.Clean(),
		Settle:     v1alpha1.ParseSettle(said.Message),
		Rewritten:  said.Reason == v1alpha1.ReasonVerifying || said.Reason == v1alpha1.ReasonSettling && strings.Contains(said.Message, rewritten),
		Counts:     Counts{Total: progress.Total, Current: progress.Done - progress.Failed, Failed: progress.Failed},
	}
}
