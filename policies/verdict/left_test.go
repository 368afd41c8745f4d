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

	v = Judge(with(func(s *Situation) { s.CRD.Deleting, s.Before = true, v1alpha1.ReasonDeletionFailed }))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed), "the API server takes back what failed with each attempt")
	g.Expect(v.Message).To(ContainSubstring("the API server tries again"))
	g.Expect(Judge(with(func(s *Situation) { s.Before = v1alpha1.ReasonDeletionFailed })).Reason).NotTo(Equal(v1alpha1.ReasonDeletionFailed), "the CRD is back")

	v = Judge(with(func(s *Situation) {
		s.CRD, s.Migration, s.Before, s.Paused = nil, nil, v1alpha1.ReasonDeletionFailed, true
	}))
	g.Expect(v.Rule).To(Equal("LeftInEtcd"))
	g.Expect(v.State).To(Equal(Progressing))
	g.Expect(v.Reason).To(Equal(v1alpha1.ReasonDeletionFailed))
	g.Expect(v.Message).To(And(ContainSubstring("may be left in etcd at v1alpha1"), ContainSubstring("bring the CRD back")))
}

// A finalizer that is taken off leaves no trace: it looks as if the API server had deleted all objects.
func TestACRDThatGoesUnprovedHoldsTheGate(t *testing.T) {
	deleting := func(before string) string {
		return Judge(with(func(s *Situation) { s.CRD.Deleting, s.Before = true, before })).Reason
	}
	gone := func(before string, beside bool) string {
		return Judge(with(func(s *Situation) { s.CRD, s.Migration, s.Before, s.LeftBeside = nil, nil, before, beside })).Reason
	}
	g := NewWithT(t)
	for _, proved := range []string{v1alpha1.ReasonSafeToRemove, v1alpha1.ReasonStillServed, v1alpha1.ReasonNotEstablished} {
		g.Expect(deleting(proved)).To(Equal(v1alpha1.ReasonNotEstablished), proved)
		g.Expect(gone(proved, false)).To(Equal(v1alpha1.ReasonNothingStored), proved)
	}
	for _, unproved := range []string{v1alpha1.ReasonMigrating, v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonNotOptedIn, v1alpha1.ReasonPaused, v1alpha1.ReasonDeletionUnproved} {
		g.Expect(deleting(unproved)).To(Equal(v1alpha1.ReasonDeletionUnproved), unproved)
		g.Expect(gone(unproved, false)).To(Equal(v1alpha1.ReasonDeletionUnproved), unproved)
	}
	g.Expect(deleting("")).To(Equal(v1alpha1.ReasonDeletionUnproved), "nobody has looked")
	g.Expect(gone("", false)).To(Equal(v1alpha1.ReasonNothingStored), "a fresh cluster")
	g.Expect(gone("", true)).To(Equal(v1alpha1.ReasonDeletionUnproved), "another VersionRemoval knows")
}
