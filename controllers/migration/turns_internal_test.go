package migration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// A CRD that lost the label is not watched any more, so no event shows that it was deleted.
func TestTheTurnsOfACRDWithoutTheLabelAreDroppedOnceNoneCanUndoThem(t *testing.T) {
	g, s, now := NewWithT(t), NewStateStore(), time.Unix(1_000_000, 0)
	sees := func(crd, is string) {
		s.turn(crd, types.UID(crd), now, func(t *turns) { t.labels = t.labels.Seen(is, "team", now) })
	}
	s.states["labelled"] = &state{}
	sees("labelled", "on")
	sees("unlabelled", "off")
	now = now.Add(59 * time.Minute)
	sees("late", "off")
	g.Expect(s.turns).To(HaveLen(3), "the label may come back")
	now = now.Add(time.Minute)
	sees("another", "off")
	g.Expect(s.turns).To(And(HaveLen(3), HaveKey("labelled"), Not(HaveKey("unlabelled"))))
}
