package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// blocked is a blocker, told by its kind and parts of what it says.
func blocked(kind, message, action string) types.GomegaMatcher {
	return And(HaveField("Kind", kind), HaveField("Message", ContainSubstring(message)), HaveField("Action", ContainSubstring(action)))
}

type want struct {
	rule     string
	state    State
	reason   string
	says     []string // parts of the message
	blockers []types.GomegaMatcher
	warnings []types.GomegaMatcher
	progress *v1alpha1.Progress
	until    time.Time
}

func matchers(of []types.GomegaMatcher) []any {
	elements := make([]any, len(of))
	for i, m := range of {
		elements[i] = m
	}
	return elements
}

func TestAStatusNamesTwentyWritersAtMost(t *testing.T) {
	g := NewWithT(t)
	s := with(served, require(time.Hour))
	for range 50 {
		written("v1alpha1", time.Minute)(&s)
	}
	g.Expect(Judge(s).Warnings).To(HaveLen(20))
}
