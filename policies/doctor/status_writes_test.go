package doctor

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/finding"
)

func refusedBefore(ago time.Duration, crd string) func(*ClusterState) {
	return func(s *ClusterState) {
		s.Controller.Refusals.Value = append(s.Controller.Refusals.Value, Refusal{CRD: crd, Last: now.Add(-ago), Note: "a policy refuses it"})
	}
}

func writtenBefore(ago time.Duration, manager, subresource string) func(*ClusterState) {
	return func(s *ClusterState) {
		owned(s.CRDs[0].CustomResourceDefinition, manager, subresource, "{}")
		s.CRDs[0].ManagedFields[len(s.CRDs[0].ManagedFields)-1].Time = &metav1.Time{Time: now.Add(-ago).Truncate(time.Second)}
	}
}

func both(changes ...func(*ClusterState)) func(*ClusterState) {
	return func(s *ClusterState) {
		for _, change := range changes {
			change(s)
		}
	}
}

func TestWritesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		ill           func(*ClusterState)
		evidence, fix string // empty if nothing is found
	}{
		"a write was": {both(refusedBefore(time.Hour, widgets), refusedBefore(time.Minute, widgets)),
			"refused at 2026-01-02T03:03:05Z: a policy refuses it", "do what the message says"},
		"a write was, after another had gone through": {both(writtenBefore(2*time.Minute, "moult", "status"), refusedBefore(time.Minute, widgets)),
			"a policy refuses it", ""},
		"a write was, before somebody else's": {both(writtenBefore(0, "kubectl", "status"), writtenBefore(0, "moult", ""), refusedBefore(time.Minute, widgets)),
			"a policy refuses it", ""},
		"RBAC keeps the controller from it": {func(s *ClusterState) { s.CRDs[0].Writable.Value = false },
			controller + " may not patch the status", `resources: ["customresourcedefinitions/status"]`},
		"a policy lets another user write": {func(s *ClusterState) {
			s.Controller.Guards.Value = []Guard{{"moult-status", "system:serviceaccount:platform:moult"}}
		}, "moult-status lets system:serviceaccount:platform:moult write", "first variable of the policy"},

		"a write was, before one went through":        {both(refusedBefore(time.Minute, widgets), writtenBefore(time.Minute-time.Second, "moult", "status")), "", ""},
		"a write was, in the second of one that went": {both(refusedBefore(time.Second/2, widgets), writtenBefore(time.Second/2, "moult", "status")), "", ""},
		"a write to another CRD was":                  {refusedBefore(time.Minute, "gadgets.example.com"), "", ""},
		"a policy lets the controller write":          {func(s *ClusterState) { s.Controller.Guards.Value = []Guard{{"moult-status", controller}} }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), healthy()
			c.ill(&s)
			for _, r := range Examine(s).Checks {
				if r.ID != StatusWrites || c.evidence == "" {
					g.Expect(r.Outcome).To(Equal(Passed), "%s: %v", r.ID, r.Findings)
					continue
				}
				g.Expect(r.Findings).To(HaveLen(1))
				f := r.Findings[0]
				g.Expect(f.Severity).To(Equal(finding.Error))
				g.Expect(f.Object).To(Equal(widgets))
				g.Expect(f.Why).To(ContainSubstring(c.evidence))
				g.Expect(f.Remediation).To(ContainSubstring(c.fix))
			}
		})
	}
}

func TestNothingIsSaidOfWritesThatMoultDoesNotMake(t *testing.T) {
	s := healthy()
	s.CRDs[0].Labels, s.CRDs[0].Writable.Value = nil, false
	NewWithT(t).Expect(statusWrites(s).Findings).To(BeEmpty())
}
