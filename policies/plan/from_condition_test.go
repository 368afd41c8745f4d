package plan_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

func TestWhatAnEarlierProcessHasLeft(t *testing.T) {
	observed := func(stored ...string) plan.Observation {
		return plan.Observation{Subject: plan.Subject{UID: "u", Generation: 3, StorageVersion: "v1"}, StoredVersions: stored}
	}
	said := func(isTrue bool, generation int64, reason string) *plan.Said {
		return &plan.Said{True: isTrue, Reason: reason, Message: v1alpha1.Message(generation, "rewriting objects at v1: 400 of 1000 objects, 3 failed, 412/s")}
	}
	counts := plan.Counts{Total: 1000, Current: 397, Failed: 3}
	for name, c := range map[string]struct {
		o    plan.Observation
		said *plan.Said
		want plan.Recorded
	}{
		"nothing":                              {observed("v1"), nil, plan.Recorded{}},
		"a proof":                              {observed("v1"), said(true, 3, v1alpha1.ReasonMigrated), plan.Recorded{Generation: 3, Proved: true, Counts: counts}},
		"a proof and its settle time":          {observed("v1"), &plan.Said{True: true, Reason: v1alpha1.ReasonMigrated, Message: v1alpha1.Message(3, v1alpha1.Proved("v1", 90*time.Second))}, plan.Recorded{Generation: 3, Proved: true, Settle: 90 * time.Second}},
		"a proof of another generation":        {observed("v1"), said(true, 2, v1alpha1.ReasonMigrated), plan.Recorded{}},
		"a proof beside an old version":        {observed("v1alpha1", "v1"), said(true, 3, v1alpha1.ReasonMigrated), plan.Recorded{Generation: 3, Counts: counts}},
		"a proof beside another version alone": {observed("v1alpha1"), said(true, 3, v1alpha1.ReasonMigrated), plan.Recorded{Generation: 3, Counts: counts}},
		"a walk that was under way":            {observed("v1"), said(false, 3, v1alpha1.ReasonMigrating), plan.Recorded{Generation: 3, Counts: counts}},
		"a settle time before any walk":        {observed("v1"), said(false, 3, v1alpha1.ReasonSettling), plan.Recorded{Generation: 3, Counts: counts}},
		"a rewriting walk that is over":        {observed("v1"), &plan.Said{Reason: v1alpha1.ReasonSettling, Message: v1alpha1.Message(3, "waiting; rewritten: 400 of 1000 objects, 3 failed")}, plan.Recorded{Generation: 3, Rewritten: true, Counts: counts}},
		"a check after a rewriting walk":       {observed("v1"), said(false, 3, v1alpha1.ReasonVerifying), plan.Recorded{Generation: 3, Rewritten: true, Counts: counts}},
		"something that nobody of us has said": {observed("v1"), &plan.Said{True: true, Reason: v1alpha1.ReasonMigrated, Message: "done"}, plan.Recorded{}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(plan.FromCondition(c.o, c.said)).To(Equal(c.want))
		})
	}
}
