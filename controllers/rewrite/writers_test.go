package rewrite

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWritersAtVersionsThatGoAreCollected(t *testing.T) {
	const old = "example.com/v1alpha1"
	for name, mode := range map[string]Mode{"in a rewriting walk": Rewrite, "in a check": Check, "in a survey": Survey} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(10, entry("tool", apply, old, ownsSize), entry("tool", update, old, ownsSize),
				entry("controller", update, old, `{"f:status":{"f:phase":{}}}`, ofStatus),
				entry("new-tool", apply, "example.com/v1", ownsSize, lately), entry("stranger", update, "other.example.com/v1alpha1", ownsSize, lately))
			s.objects["o00003"].managed[0] = entry("tool", apply, old, ownsSize, lately)
			s.objects["o00004"].managed = nil
			_, tally, err := walkOver(s, func(w *Walk) { w.Ownership, w.Mode = leaving(), mode })
			g.Expect(err).NotTo(HaveOccurred())
			object := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
			for i := range tally.Writers {
				if !tally.Writers[i].Last.Equal(late) {
					tally.Writers[i].Object = types.NamespacedName{} // any of them: they wrote in the same second
				}
				tally.Writers[i].Last = tally.Writers[i].Last.UTC()
			}
			g.Expect(tally.Writers).To(ConsistOf(
				Writer{Manager: "tool", Operation: "Apply", Version: "v1alpha1", Objects: 9, Last: late, Object: object("o00003")},
				Writer{Manager: "tool", Operation: "Update", Version: "v1alpha1", Objects: 9, Last: early},
				Writer{Manager: "controller", Operation: "Update", Subresource: "status", Version: "v1alpha1", Objects: 9, Last: early},
			))
		})
	}
}

// The entry of a client that writes between the list and the repair is moved as
// well, and with it the only trace of the write.
func TestAWriterThatComesBetweenTheListAndTheRepairIsCollectedToo(t *testing.T) {
	g := NewWithT(t)
	s := shelfOf(3, entry("tool", apply, "example.com/v1alpha1", ownsSize))
	s.meanwhile = func(s *shelf, name string, try int) {
		if name == "o00001" && try == 0 {
			s.touch(name)
			s.objects[name].managed = append(s.objects[name].managed, entry("late", update, "example.com/v1alpha1", ownsSize, lately))
		}
	}
	_, tally, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tally.Writers).To(ConsistOf(
		And(HaveField("Manager", "tool"), HaveField("Objects", int64(3))),
		And(HaveField("Manager", "late"), HaveField("Objects", int64(1)))))
}

func TestWritersAreNotCollectedWhileNoVersionGoes(t *testing.T) {
	g := NewWithT(t)
	_, tally, err := walkOver(shelfOf(10, entry("tool", apply, "example.com/v1alpha1", ownsSize)), resting)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tally.Writers).To(BeEmpty())
}

func TestAtMostAHundredWritersAreNamed(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(150)
	n := 0
	for _, o := range s.objects {
		o.managed = []metav1.ManagedFieldsEntry{
			entry(fmt.Sprintf("tool-%d", n), update, "example.com/v1alpha1", ownsSize), entry("everywhere", apply, "example.com/v1alpha1", ownsSize),
		}
		n++
	}
	_, tally, err := walkOver(s, repairing)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tally.By).To(Equal(map[Outcome]int64{Repaired: 150}))
	g.Expect(tally.Writers).To(HaveLen(maxWriters))
	g.Expect(tally.Writers).To(ContainElement(And(HaveField("Manager", "everywhere"), HaveField("Objects", int64(150)))))
}
