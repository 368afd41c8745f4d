package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Who lets fields go on the CRD does not wait for the pause of the failure to end.
func TestFieldsThatMayGoAreTriedAtOnce(t *testing.T) {
	later := now.Add(time.Hour)
	for name, c := range map[string]struct {
		failure *Failure
		before  []string
		now     []string
		want    time.Time
	}{
		"a field may go now":                     {failure: &Failure{Reason: v1alpha1.ReasonFieldsWouldBeLost}, now: []string{"spec.a"}},
		"a field may not go any more":            {failure: &Failure{Reason: v1alpha1.ReasonFieldsWouldBeLost}, before: []string{"spec.a"}},
		"the same fields as before may go":       {failure: &Failure{Reason: v1alpha1.ReasonFieldsWouldBeLost}, before: []string{"spec.a"}, now: []string{"spec.a"}, want: later},
		"what failed has nothing to do with it":  {failure: &Failure{Reason: v1alpha1.ReasonForbidden}, now: []string{"spec.a"}, want: later},
		"nothing has failed, so nothing changes": {now: []string{"spec.a"}, want: later},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := Evidence{Subject: v1, Failure: c.failure, RetryAt: later, MayDrop: c.before}.dropping(c.now)
			g.Expect(e.RetryAt).To(Equal(c.want))
			g.Expect(e.MayDrop).To(Equal(c.now))
		})
	}
}
