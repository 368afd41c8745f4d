package verdict

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// The API server deletes objects with their CRD, if it can read them. A finalizer that is taken off leaves them in etcd.
func TestObjectsThatCouldNotBeDeletedHoldTheGate(t *testing.T) {
	g := NewWithT(t)
	v := Judge(with(func(s *Situation) {
		s.CRD.Deleting, s.CRD.DeletionFailed = true, "InstanceDeletionFailed: webhook down"
	}))
	g.Expect(v.Rule).To(Equal("LeftInEtcd"))
	g.Expect(v.State).To(Equal(Progressing))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed))
	g.Expect(v.Message).To(And(ContainSubstring("its objects cannot be: InstanceDeletionFailed: webhook down"), ContainSubstring("without the CRD's own finalizer")))

	v = Judge(with(func(s *Situation) { s.CRD.Deleting, s.WasLeft = true, true }))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed), "the API server takes back what failed with each attempt")
	g.Expect(v.Message).To(ContainSubstring("the API server tries again"))
	g.Expect(Judge(with(func(s *Situation) { s.CRD.Deleting = true })).Reason).To(Equal(v1alpha1.ReasonNotEstablished))
	g.Expect(Judge(with(func(s *Situation) { s.WasLeft = true })).Reason).NotTo(Equal(v1alpha1.ReasonDeletionFailed), "the CRD is back")

	v = Judge(with(func(s *Situation) { s.CRD, s.Migration, s.WasLeft, s.Paused = nil, nil, true, true }))
	g.Expect(v.Rule).To(Equal("LeftInEtcd"))
	g.Expect(v.State).To(Equal(Progressing))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed))
	g.Expect(v.Message).To(And(ContainSubstring("may be left in etcd at v1alpha1"), ContainSubstring("bring the CRD back")))
}
