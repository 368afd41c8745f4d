package setup

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
)

// counting counts the Events of each namespace.
type counting map[string]int

func (c counting) Eventf(regarding, _ runtime.Object, _, _, _, _ string, _ ...any) {
	c[regarding.(metav1.Object).GetNamespace()]++
}

var _ events.EventRecorder = counting{}

// Each write to an object makes client-go take the next Event about it for another one, and keep both.
func TestFewEventsAreRecordedHoweverOftenAnAnswerChanges(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	record := func(r *few, namespace, name string, write int, reason string) {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: fmt.Sprint(write)}}
		r.Eventf(o, nil, corev1.EventTypeNormal, reason, reason, "")
	}
	for name, c := range map[string]struct {
		flood func(r *few, write int) // ten times a second, for twelve minutes
		want  int
	}{
		"one object of two answers": {want: 2 * 12, flood: func(r *few, write int) {
			record(r, "tenant", "one", write, []string{"Paused", "Waiting"}[write%2])
		}},
		"one new object after the other": {want: 500 + 12*30, flood: func(r *few, write int) { record(r, "tenant", fmt.Sprint(write), write, "Paused") }},
		"objects of many namespaces": {want: 1000 + 12*60, flood: func(r *few, write int) {
			record(r, fmt.Sprint("tenant-", write%3000), fmt.Sprint(write), write, "Paused")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clk, recorded := testclock.NewFakePassiveClock(start), counting{}
			r, all := newFew(recorded, clk), 0
			for write := range 12 * 60 * 10 {
				clk.SetTime(start.Add(time.Duration(write) * 100 * time.Millisecond))
				c.flood(r, write)
			}
			for _, n := range recorded {
				all += n
			}
			g.Expect(all).To(BeNumerically("~", c.want, 2))
			if name != "objects of many namespaces" {
				record(r, "platform", "gate", 1, "SafeToRemove")
				g.Expect(recorded["platform"]).To(Equal(1), "another namespace has room")
			}
		})
	}
}
