package verdict

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// A message names what there is, and is silent about what there is not.
func TestAMessageSaysNoMoreThanThereIs(t *testing.T) {
	const (
		safe = "every object of widgets.example.com is stored at v1 (proved at generation 3), and no managedFields named v1alpha1 when they were looked through at 2026-01-02T03:04:05Z"
		lost = "widgets.example.com: managedFields cannot be moved away from v1alpha1 without a loss: field manager flux (Apply) would no longer own 3 fields of 2 objects"
		todo = ". To do: let the named field managers write the objects once at v1, or fix the cause in status.blockers; " +
			`to give that ownership up, set the annotation moult.dev/allow-ownership-loss: "v1alpha1" on the CRD`
	)
	for name, c := range map[string]struct {
		s    Situation
		want string
	}{
		"a version that is not served, and nobody looks": {with(), safe + "; other objects that may name it were not looked at"},
		"a version that is not served, and all is looked at": {with(requires(v1alpha1.NoReferences), looks(looked(now))),
			safe + "; nothing else that was looked at named it at 2026-01-02T03:04:05Z"},
		"one field manager would lose something":     {with(losing(true)), lost + todo},
		"two field managers would lose something":    {with(losingFor(2)), lost + "; 1 more field managers would lose some, too" + todo},
		"of very many field managers a part is told": {with(losingFor(50)), lost + "; 18 more field managers would lose some, too" + todo},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Judge(c.s).Message).To(Equal(c.want))
		})
	}
}

// losingFor has so many field managers lose something.
func losingFor(n int) func(*Situation) {
	return func(s *Situation) {
		for range n {
			losing(true)(s)
		}
	}
}

func TestWhichCountsAreReported(t *testing.T) {
	before := plan.Counts{Total: 7, Current: 7}
	for name, c := range map[string]struct {
		walking *plan.Walking
		last    plan.Counts
		want    *v1alpha1.Progress
	}{
		"of the walk under way":                        {&plan.Walking{Counts: plan.Counts{Total: 10, Current: 4}}, before, &v1alpha1.Progress{Done: 4, Total: 10}},
		"of the last walk until this one has listed":   {&plan.Walking{}, before, &v1alpha1.Progress{Done: 7, Total: 7}},
		"of the last walk when none is under way":      {nil, before, &v1alpha1.Progress{Done: 7, Total: 7}},
		"none where nothing has ever been counted yet": {&plan.Walking{}, plan.Counts{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := with(at(v1alpha1.ReasonMigrating, "rewriting objects at v1"))
			s.Migration.Walking, s.Migration.Evidence.Last = c.walking, c.last
			NewWithT(t).Expect(Judge(s).Progress).To(Equal(c.want))
		})
	}
}

// The API server refuses an object that is too large.
func TestHoweverMuchIsInTheWayAStatusStaysShort(t *testing.T) {
	writing := func(s *Situation) {
		for range 50 {
			written("v1alpha1", time.Minute)(s)
		}
	}
	for name, c := range map[string]struct {
		s    Situation
		want int
	}{
		"field managers that would lose something": {with(losingFor(50)), 19},
		"field managers that wrote at the version": {with(require(time.Hour, v1alpha1.Quiet), writing), 19},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Judge(c.s).Blockers).To(HaveLen(c.want))
		})
	}
}

// A write that is refused changes nothing of what is known.
func TestWhatIsKnownIsKeptWhereItMayNotBeApproved(t *testing.T) {
	v := Judge(with())
	NewWithT(t).Expect(v.StoredAt).NotTo(BeNil())
	NewWithT(t).Expect(MayNotApprove(v, errors.New("refused"), later).StoredAt).To(Equal(v.StoredAt))
}
