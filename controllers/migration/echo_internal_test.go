package migration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Two processes with other settings word the same otherwise. Each would put its own words in the place of the other's, for ever.
func TestTwoProcessesDoNotCorrectEachOther(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	r := &Reconciler{states: NewStateStore()}
	r.states.states["widgets"] = &state{}
	says := func(message string) apiextensionsv1.CustomResourceDefinitionCondition {
		return apiextensionsv1.CustomResourceDefinitionCondition{Status: apiextensionsv1.ConditionTrue, Reason: v1alpha1.ReasonMigrated, Message: message}
	}
	g.Expect(r.worthWriting("widgets", now, says("after 4s"), says("after 1s"))).To(BeTrue())
	r.states.tellsReason("widgets", v1alpha1.ReasonMigrated, "after 1s", now)
	g.Expect(r.worthWriting("widgets", now, says("after 4s"), says("after 1s"))).To(BeFalse(), "it was written a moment ago")
	g.Expect(r.worthWriting("widgets", now, says("after 4s"), says("after 2s"))).To(BeTrue(), "that is news")
	g.Expect(r.worthWriting("widgets", now.Add(progressInterval), says("after 4s"), says("after 1s"))).To(BeTrue())
}
