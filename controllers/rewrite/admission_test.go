package rewrite

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// trial is a shelf to which dry runs are sent.
type trial struct {
	*shelf
	mu      sync.Mutex
	asked   []string
	changes func(name string) bool // what a write would change more than how the object is stored
	before  func(name string)      // called before each dry run
}

func (d *trial) Patch(_ context.Context, key types.NamespacedName, _ types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked = append(d.asked, key.Name); d.before != nil {
		d.before(key.Name)
	}
	d.shelf.mu.Lock()
	defer d.shelf.mu.Unlock()
	after := d.metadata(key.Name)
	if !strings.Contains(string(body), strconv.Quote(after.ResourceVersion)) {
		return nil, apierrors.NewConflict(widgetResource, key.Name, errors.New("the object has been modified"))
	}
	if d.changes != nil && d.changes(key.Name) {
		after.Generation++
	}
	return after, nil
}

func oneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestWhatAdmissionTakesAwayIsAskedAboutBeforeAWrite(t *testing.T) {
	for name, c := range map[string]struct {
		always          bool
		status, repairs bool
		mode            Mode
		changes, stamps func(string) bool
		asked           []string
	}{
		"nothing is listed":                      {asked: []string{"o00000"}},
		"nothing is listed, a check":             {mode: Check, asked: []string{"o00000"}},
		"something is listed":                    {always: true, asked: []string{"o00000", "o00001", "o00002", "o00003"}},
		"something is listed, a check":           {always: true, mode: Check, asked: []string{"o00000", "o00000", "o00001", "o00001", "o00002", "o00002", "o00003", "o00003"}},
		"written at the status":                  {always: true, status: true},
		"written at the status, repaired":        {always: true, status: true, repairs: true, asked: []string{"o00000", "o00001", "o00002", "o00003"}},
		"nothing is listed, the first shows it":  {changes: oneOf("o00000"), asked: []string{"o00000", "o00001", "o00002", "o00003"}},
		"nothing is listed, a write shows it":    {stamps: oneOf("o00001"), asked: []string{"o00000", "o00002", "o00003"}},
		"nothing is listed, the last changes it": {changes: oneOf("o00003"), asked: []string{"o00000"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(4)
			s.stamps = c.stamps
			if c.repairs {
				for _, o := range s.objects {
					o.managed = []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", ownsSize)}
				}
			}
			d := &trial{shelf: s, changes: c.changes}
			_, result, err := walkOver(s, func(w *Walk) {
				w.Mode, w.Workers = c.mode, 1
				w.Admission = &Admission{DryRun: d, Always: c.always, Lost: func(context.Context, types.NamespacedName) (string, error) { return "", nil }}
				if c.status {
					w.Status = s
				}
				if c.repairs {
					w.Ownership = Ownership{Group: "example.com", StorageVersion: "v1", Versions: []string{"v1alpha1", "v1"}, Leaving: []string{"v1alpha1"}}
				}
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By[Failed]).To(BeZero())
			g.Expect(d.asked).To(Equal(c.asked))
		})
	}
}

func TestAnObjectThatWouldLoseSomethingIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	s := newShelf(3)
	raced := false
	d := &trial{shelf: s, changes: oneOf("o00001", "o00002"), before: func(name string) {
		if name == "o00001" && !raced {
			raced = true
			s.touch(name)
		}
	}}
	compared := 0
	_, result, err := walkOver(s, func(w *Walk) {
		w.Workers = 1
		w.Admission = &Admission{DryRun: d, Always: true, Lost: func(_ context.Context, key types.NamespacedName) (string, error) {
			if compared++; compared == 1 {
				return "", apierrors.NewConflict(widgetResource, key.Name, errors.New("it was written meanwhile"))
			}
			if key.Name == "o00001" {
				return "spec.a, spec.b would be lost by x", nil
			}
			return "", nil
		}}
	})
	g.Expect(compared).To(BeNumerically(">", 2))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 2, Failed: 1}))
	g.Expect(result.FailedObjects).To(ConsistOf(HaveField("Message", "spec.a, spec.b would be lost by x")))
	g.Expect(s.tries["o00001"]).To(BeZero(), "it is as it was")
}
