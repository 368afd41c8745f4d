package snapshot

import (
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// plainReasons are those whose messages Moult has written word for word. Other messages pass on what the API server or a
// webhook has said about an object or a user, with values of fields in it, perhaps.
var plainReasons = []string{
	v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying,
	v1alpha1.ReasonPaused, v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonNotEstablished, v1alpha1.ReasonStandingBack,
	v1alpha1.ReasonAggregatedAPIServer,
	v1alpha1.ReasonNothingStored, v1alpha1.ReasonAlreadyRemoved, v1alpha1.ReasonSafeToRemove, v1alpha1.ReasonIntermediateRevisionRequired,
	v1alpha1.ReasonNotOptedIn, v1alpha1.ReasonOutOfScope, v1alpha1.ReasonRepairingOwnership, v1alpha1.ReasonStillServed, v1alpha1.ReasonStillWritten,
}

// serverSaid is where a message about a missing permission begins to quote.
const serverSaid = "; the API server said"

// discreet is a condition's message without what somebody else than Moult has said. Opening is how a VersionRemoval's
// message begins; that of a CRD's condition begins with the generation.
func (*Snapshot) discreet(opening, reason, message string) string {
	if slices.Contains(plainReasons, reason) {
		return message
	}
	if opening == "" {
		if generation, _, ok := strings.Cut(message, ": "); ok && strings.HasPrefix(generation, "generation ") {
			opening = generation + ": "
		}
	}
	sentence, ok := strings.CutPrefix(message, opening)
	if !ok {
		opening = ""
	}
	if before, _, quoted := strings.Cut(sentence, serverSaid); quoted {
		return opening + before
	}
	before, _, _ := strings.Cut(sentence, ": ")
	return opening + before
}

// nameAndReason is the beginning of what is said of a failed object: "namespace/name: Reason".
func nameAndReason(failure string) (string, bool) {
	parts := strings.SplitN(failure, ": ", 3)
	if len(parts) < 3 {
		return "", false
	}
	return parts[0] + ": " + parts[1], true
}
