package inspect

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/snapshot"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newCount(noNames bool) *count {
	t := &taker{opts: Options{NoNames: noNames}, Snapshot: &snapshot.Snapshot{TakenAt: now}}
	return t.newCount(seen{CRD: snapshot.CRD{Versions: []snapshot.Version{{Name: "v1alpha1"}, {Name: "v1", Storage: true}}}, group: "example.com"})
}

func object(name string, entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ManagedFields: entries}}
}

func at(apiVersion, manager string, ago time.Duration) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{APIVersion: apiVersion, Manager: manager, Operation: "Apply", Time: &metav1.Time{Time: now.Add(-ago)}}
}

func TestManagedFieldsShowWhoWroteAtWhichVersion(t *testing.T) {
	g := NewWithT(t)
	status := at("example.com/v1alpha1", "old", 0)
	status.Subresource, status.Operation, status.Time = "status", "Update", nil
	objects := []*metav1.PartialObjectMetadata{
		object("a", at("example.com/v1alpha1", "old", time.Hour), at("example.com/v1", "new", 0)),
		object("b", at("example.com/v1alpha1", "old", time.Minute), status),
		object("c", at("example.com/v1alpha1", "old", 2*time.Hour), at("example.com/v1beta1", "gone", -time.Hour)),
		object("d", at("another.com/v1alpha1", "old", 0), at("v1alpha1", "old", 0)),
	}
	want := &snapshot.Objects{Count: 4, OwnedAt: map[string]int64{"v1alpha1": 3, "v1beta1": 1}, Writers: []snapshot.Writer{
		{Version: "v1alpha1", Manager: "old", Operation: "Apply", Objects: 3, Last: now.Add(-time.Minute), Example: "ns/b"},
		{Version: "v1alpha1", Manager: "old", Operation: "Update", Subresource: "status", Objects: 1},
		{Version: "v1beta1", Manager: "gone", Operation: "Apply", Objects: 1, Last: now, Example: "ns/c"}, // no later than now
	}}
	c, nameless := newCount(false), newCount(true)
	for _, o := range objects {
		c.add(o)
		nameless.add(o)
	}
	g.Expect(c.objects()).To(Equal(want))
	for i := range want.Writers {
		want.Writers[i].Example = ""
	}
	g.Expect(nameless.objects()).To(Equal(want))
}

func TestWritersBeyondTheBoundAreStillCounted(t *testing.T) {
	g, c := NewWithT(t), newCount(false)
	for i := range 10 * maxWriters {
		c.add(object(fmt.Sprint(i), at("example.com/v1alpha1", fmt.Sprintf("manager-%d", i), 0)))
	}
	g.Expect(c.objects().Writers).To(HaveLen(maxWriters))
	g.Expect(c.objects().OwnedAt).To(Equal(map[string]int64{"v1alpha1": 10 * maxWriters}))
}

func TestObjectsThatAreLongInDeletionAreStuck(t *testing.T) {
	g, c, nameless := NewWithT(t), newCount(false), newCount(true)
	for i, ago := range []time.Duration{time.Hour, time.Minute, 6 * time.Minute, 7 * time.Minute, 8 * time.Minute, 9 * time.Minute, 10 * time.Minute, 11 * time.Minute} {
		o := object(fmt.Sprint(i))
		o.DeletionTimestamp = &metav1.Time{Time: now.Add(-ago)}
		c.add(o)
		nameless.add(o)
	}
	got := c.objects().Stuck
	g.Expect(got.Count).To(BeEquivalentTo(7))
	g.Expect(got.Examples).To(And(HaveLen(maxExamples), ContainElement("ns/0 since 2026-01-02T02:04:05Z"), Not(ContainElement(HavePrefix("ns/1")))))
	g.Expect(nameless.objects().Stuck).To(Equal(&snapshot.Stuck{Count: 7}))
	g.Expect(newCount(false).objects().Stuck).To(BeNil())
}
