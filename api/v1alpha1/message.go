package v1alpha1

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Progress counts the objects of one walk.
type Progress struct {
	// Done is how many objects have been dealt with, failed ones included.
	Done int64
	// Total is how many objects there are, as far as is known.
	Total int64
	// Failed is how many objects could not be rewritten.
	Failed int64
	// Rate is in objects per second; 0 while it is unknown.
	Rate float64
}

// String renders the counts in the one form ParseProgress reads back, for
// example "400 of 1000 objects, 0 failed, 412/s".
func (p Progress) String() string {
	s := fmt.Sprintf("%d of %d objects, %d failed", p.Done, p.Total, p.Failed)
	if p.Rate > 0 {
		s += fmt.Sprintf(", %.0f/s", p.Rate)
	}
	return s
}

// Percent is Done in hundredths of Total, 0 while nothing is known to be there.
func (p Progress) Percent() int {
	if p.Total <= 0 {
		return 0
	}
	return int(min(100, 100*p.Done/p.Total))
}

var progressPattern = regexp.MustCompile(`(\d+) of (\d+) objects, (\d+) failed(?:, (\d+)/s)?`)

// ParseProgress finds the counts that String wrote in a condition's message.
func ParseProgress(message string) (Progress, bool) {
	m := progressPattern.FindStringSubmatch(message)
	if m == nil {
		return Progress{}, false
	}
	number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
	return Progress{Done: number(m[1]), Total: number(m[2]), Failed: number(m[3]), Rate: float64(number(m[4]))}, true
}

// Proved is the sentence of a StorageMigrated condition that is True. It names the settle time that was waited before every
// object was checked: a proof counts only for a process that would have waited no longer.
func Proved(storageVersion string, settle time.Duration) string {
	return fmt.Sprintf("every object is proved to be stored at %s, after a settle time of %s", storageVersion, settle)
}

var settlePattern = regexp.MustCompile(`, after a settle time of ([0-9a-zµ.]+)`)

// ParseSettle finds the settle time that Proved wrote in a condition's message; 0 if there is none.
func ParseSettle(message string) time.Duration {
	m := settlePattern.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	settle, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return settle
}

// Message is the text of a StorageMigrated condition: the CRD generation it speaks of, then a sentence. The generation
// is in the text and nowhere else, because a CRD's condition has no observedGeneration on every API server. Before
// Kubernetes 1.35 an apply that names the field is refused, and 1.35 drops it (feature gate
// CRDObservedGenerationTracking). It comes first because Argo CD's Lua has no string library: a prefix is all it can
// test for. Objects that anybody may have written are quoted in the sentence, so it is cut where it gets too long.
func Message(generation int64, sentence string) string {
	message := messagePrefix(generation) + sentence
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(cutMark)], "") + cutMark
}

// maxMessage is the limit of metav1.Condition in bytes. The API server has none for a CRD's condition, until etcd refuses the CRD.
const maxMessage = 32 << 10

const cutMark = "…"

func messagePrefix(generation int64) string {
	return fmt.Sprintf("generation %d: ", generation)
}

// SpeaksOf reports whether a StorageMigrated condition's message is about the
// given CRD generation.
func SpeaksOf(message string, generation int64) bool {
	return strings.HasPrefix(message, messagePrefix(generation))
}
