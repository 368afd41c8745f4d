package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watched is a witness of the two objects a and b, both stored at v1alpha1, on their way to v1.
func watched() *witness {
	set := &objectSet{gr: schema.GroupResource{Group: "example.com", Resource: "widgets"}, stored: oldest}
	return &witness{set: set, target: newest, changed: make(chan struct{}), stale: map[string]struct{}{
		set.prefix() + "default/a": {}, set.prefix() + "default/b": {},
	}}
}

func (w *witness) stores(name, version string) {
	w.objectWritten(&clientv3.Event{Type: clientv3.EventTypePut, Kv: &mvccpb.KeyValue{
		Key: []byte(w.set.prefix() + "default/" + name), Value: []byte(`{"apiVersion":"example.com/` + version + `","kind":"Widget"}`),
	}})
}

func (w *witness) crdSays(storage, storedVersions string) {
	other := oldest
	if storage == oldest {
		other = newest
	}
	w.crdWritten(&clientv3.Event{Kv: &mvccpb.KeyValue{Value: []byte(`{"spec":{"versions":[{"name":"` + other + `"},{"name":"` + storage +
		`","storage":true}]},"status":{"storedVersions":` + storedVersions + `}}`)}})
}

func TestTheWitnessCountsWhatIsStaleAtTheTrim(t *testing.T) {
	for name, c := range map[string]struct {
		happens             func(*witness)
		stale, later, wrote int
		done, trimmed       bool
	}{
		"nothing, when all were rewritten before": {func(w *witness) {
			w.stores("a", newest)
			w.stores("b", newest)
			w.crdSays(newest, `["v1"]`)
		}, 0, 0, 2, true, true},
		"one, when its rewriting comes after": {func(w *witness) {
			w.stores("a", newest)
			w.crdSays(newest, `["v1"]`)
			w.stores("b", newest)
		}, 1, 1, 2, true, true},
		"one that a late writer has stored at the old version again": {func(w *witness) {
			w.stores("a", newest)
			w.stores("b", newest)
			w.stores("a", oldest)
			w.crdSays(newest, `["v1"]`)
		}, 1, 1, 3, true, true},
		"none, but one later": {func(w *witness) {
			w.stores("a", newest)
			w.stores("b", newest)
			w.crdSays(newest, `["v1"]`)
			w.stores("late", oldest)
		}, 0, 1, 3, true, true},
		"nothing yet, when storedVersions still names the old version": {func(w *witness) {
			w.crdSays(newest, `["v1alpha1","v1"]`)
		}, 0, 0, 0, false, false},
		"nothing yet, when it is clean because the flip is still to come": {func(w *witness) {
			w.crdSays(oldest, `["v1alpha1"]`)
			w.crdSays(oldest, `["v1"]`)
		}, 0, 0, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), watched()
			c.happens(w)
			saw := w.sees()
			g.Expect(w.err).NotTo(HaveOccurred())
			g.Expect([]int{saw.StaleAtTrim, saw.StaleLater, saw.Writes}).To(Equal([]int{c.stale, c.later, c.wrote}))
			g.Expect([]bool{!saw.Done.IsZero(), !saw.Trimmed.IsZero()}).To(Equal([]bool{c.done, c.trimmed}))
		})
	}
}

func TestAnObjectThatNoLongerExistsIsNotStale(t *testing.T) {
	g, w := NewWithT(t), watched()
	w.objectWritten(&clientv3.Event{Type: clientv3.EventTypeDelete, Kv: &mvccpb.KeyValue{Key: []byte(w.set.prefix() + "default/a")}})
	g.Expect(w.sees().Stale).To(Equal(1))
	g.Expect(w.set.holds("/registry/example.com/widgets/bench-nudges/nudge")).To(BeFalse())
}
