package refusal_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/crddiff/refusal"
)

func TestWhatAnUpgradeIsRefusedFor(t *testing.T) {
	g := NewWithT(t)
	g.Expect(refusal.Upgrade(widgets(fine), widgets(finer))).To(BeEmpty())
	cluster := changed(widgets(fine), func(c crd) { c.Spec.Scope = "Cluster" })
	g.Expect(refusal.Upgrade(widgets(fine), cluster)).To(ConsistOf(And(HaveField("Path", "spec.scope"), HaveField("Said", ContainSubstring("field is immutable")))), "what others say by a name is said here, too")
	g.Expect(refusal.Upgrade(widgets(badDefault), widgets(badDefault, badDefault))).To(HaveEach(HaveField("Known", false)))
	g.Expect(refusal.Upgrade(widgets(badDefault), changed(widgets(badDefault), func(c crd) { c.Spec.Names.ShortNames = []string{"w"} }))).To(HaveEach(HaveField("Known", true)))
}

func TestWhatTheWayBackIsRefusedFor(t *testing.T) {
	g := NewWithT(t)
	one, two := widgets(fine), widgets(fine, fine)
	stored := func(version string) crd {
		return changed(two.DeepCopy(), func(c crd) {
			for i := range c.Spec.Versions {
				c.Spec.Versions[i].Storage = c.Spec.Versions[i].Name == version
			}
		})
	}
	old, added := one.Spec.Versions[0].Name, ""
	for _, v := range two.Spec.Versions {
		if v.Name != old {
			added = v.Name
		}
	}
	g.Expect(refusal.Back(one, stored(old))).To(BeEmpty(), "the new version is not stored")
	g.Expect(refusal.Back(one, stored(added))).To(ConsistOf(And(HaveField("Path", "status.storedVersions[1]"), HaveField("Said", ContainSubstring("missing from spec.versions")))))
	g.Expect(refusal.Back(widgets(badDefault), widgets(fine))).To(BeEmpty(), "it would be refused as a new CRD, too")
}
