package rewrite

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Only a list that comes later shows whether an object that is not found by its name was deleted.
func TestAnObjectThatIsNotFoundAndListedAgainIsNotGone(t *testing.T) {
	for name, c := range map[string]struct {
		mode    Mode
		deleted bool
		want    map[Outcome]int64
		failure string
	}{
		"it was deleted":             {mode: Check, deleted: true, want: map[Outcome]int64{Current: 4, Gone: 1}},
		"it is listed again":         {mode: Check, want: map[Outcome]int64{Current: 4, Gone: 0, Failed: 1}, failure: "ns/o00003: Misplaced: its key in etcd is not that of its name. Look below /registry/example.com/ for mod_revision 4. "},
		"the first walk is no proof": {mode: Rewrite, want: map[Outcome]int64{Current: 4, Gone: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(5)
			for _, o := range s.objects {
				o.stale = false
			}
			s.fail = func(name string, _ int) error {
				if name == "o00003" {
					return notFound(name)
				}
				return nil
			}
			s.unreadable = func(name string) error { // it is read while the shelf is locked
				if c.deleted {
					delete(s.objects, name)
				}
				return notFound(name)
			}
			_, result, err := walkOver(s, func(w *Walk) { w.Mode, w.PageSize = c.mode, 2 })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(c.want))
			g.Expect(result.Done()).To(BeEquivalentTo(5))
			if c.failure != "" {
				g.Expect(result.FailedObjects[0].String()).To(HavePrefix(c.failure))
			}
		})
	}
}
