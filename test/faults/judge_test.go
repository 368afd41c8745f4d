package faults_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/faults"
)

// The judge is told lies, by hand.
func TestTheJudgeSeesEveryLie(t *testing.T) {
	for name, c := range map[string]struct {
		lie  func(*world)
		want string
		// settle is long where it must not be over too soon on a busy machine.
		settle time.Duration
	}{
		"a list that is trimmed while objects are stale": {lie: (*world).trimByHand, want: `storedVersions of widgets\..* is \[v1\], but stored at v1alpha1 are faults-.*/object-00000, .*`},
		"a list that is trimmed before the settle time is over": {lie: func(w *world) {
			w.writeAll()
			w.trimByHand()
		}, want: `trimmed to \[v1\] although these have not been asked about since the settle time was over: faults-.*/object-00000, `, settle: 2 * soon},
		"a list that is trimmed before one object is asked about again": {lie: func(w *world) {
			w.writeAll()
			time.Sleep(w.settle)
			w.write(0, 1, 2)
			w.trimByHand()
		}, want: `trimmed to \[v1\] although these .*: faults-.*/object-00003$`, settle: 10 * time.Second},
		"a gate that opens while objects are stale": {lie: (*world).openByHand, want: `the gate faults-.*/no-v1alpha1 is open, but stored at v1alpha1 are`},
		"a gate that opens while managedFields name the version": {lie: func(w *world) {
			w.writeAll()
			time.Sleep(w.settle)
			w.writeAll()
			w.trimByHand()
			w.openByHand()
		}, want: `the gate faults-.*/no-v1alpha1 opens, but v1alpha1 is named by managedFields of faults-.*/object-00000, `},
		"an object that is deleted": {lie: func(w *world) {
			w.Expect(w.at(w.cp.Config, "v1", "widgets", w.namespace).Delete(w.ctx, name(2), metav1.DeleteOptions{})).To(Succeed())
		}, want: `widgets faults-.*/object-00002 is deleted`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 4, fault{})
			w.settle = max(w.settle, c.settle)
			w.flip()
			w.begin()
			w.Expect(w.judge.Lie()).To(Succeed())
			c.lie(w)
			w.Eventually(w.judge.Lie, soon).Should(MatchError(MatchRegexp(c.want)))
		})
	}
}

func TestTheJudgeAcceptsTheTruth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, fault{})
	w.flip()
	w.begin()
	w.writeAll()
	time.Sleep(w.settle)
	w.writeAll()
	w.trimByHand()
	w.moveOwners()
	w.openByHand()
	w.judge.AllowDeletes()
	w.Expect(w.at(w.cp.Config, "v1", "widgets", w.namespace).Delete(w.ctx, name(2), metav1.DeleteOptions{})).To(Succeed())
	w.sync()
	w.Expect(w.judge.Lie()).To(Succeed())
	w.Expect(w.stored("widgets")).To(Equal(map[string]int{"v1": 3}))
}

// writeAll writes all objects until they are stored at v1: for a moment after the flip the API server may still write the old
// version.
func (w *world) writeAll() {
	w.t.Helper()
	w.Eventually(func() ([]string, error) {
		w.write(0, 1, 2, 3)
		return w.cp.Etcd().Stale(w.ctx, schema.GroupResource{Group: w.group, Resource: "widgets"}, "v1")
	}, soon).Should(BeEmpty())
}

// write writes objects through the proxy, without changing them.
func (w *world) write(which ...int) {
	w.t.Helper()
	for _, i := range which {
		_, err := w.at(w.proxy.Config(), "v1", "widgets", w.namespace).Patch(w.ctx, name(i), types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
}

// moveOwners has all managedFields name v1.
func (w *world) moveOwners() {
	w.t.Helper()
	widgets := w.at(w.cp.Config, "v1", "widgets", w.namespace)
	all, err := widgets.List(w.ctx, metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	for i := range all.Items {
		entries := all.Items[i].GetManagedFields()
		for j := range entries {
			entries[j].APIVersion = w.group + "/v1"
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": entries}})
		w.Expect(err).NotTo(HaveOccurred())
		_, err = widgets.Patch(w.ctx, all.Items[i].GetName(), types.MergePatchType, body, metav1.PatchOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
}

func (w *world) trimByHand() {
	w.t.Helper()
	w.Expect(w.client.Status().Patch(w.ctx, w.live("widgets").DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"storedVersions":["v1"]}}`)))).To(Succeed())
}

func (w *world) openByHand() {
	w.t.Helper()
	w.sync()
	w.Expect(w.client.Status().Patch(w.ctx, w.gate().DeepCopy(), client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"SafeToRemove","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`)))).To(Succeed())
}

func TestWhatIsLostIsNamed(t *testing.T) {
	entry := func(manager, operation, version, fields string) string {
		return fmt.Sprintf(`{"manager":%q,"operation":%q,"apiVersion":"example.com/%s","fieldsType":"FieldsV1","fieldsV1":{"f:spec":%s}}`,
			manager, operation, version, fields)
	}
	object := func(version, spec string, entries ...string) string {
		return fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/%s","metadata":{"name":"a","managedFields":[%s]},"spec":%s}`,
			version, strings.Join(entries, ","), spec)
	}
	const both, whole = `{"f:size":{},"f:color":{}}`, `{"size":1,"color":"green"}`
	old := entry("tool", "Apply", "v1alpha1", both)
	before := object("v1alpha1", whole, old)
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"nothing":                      {before, nil},
		"only the version has changed": {object("v1", whole, entry("tool", "Apply", "v1", both)), nil},
		"a field":                      {object("v1", `{"size":1}`, old), []string{"n/a has changed"}},
		"a value":                      {object("v1", `{"size":2,"color":"green"}`, old), []string{"n/a has changed"}},
		"all owners":                   {object("v1", whole), []string{"n/a: {tool Apply } owns nothing any more"}},
		"one owned field":              {object("v1", whole, entry("tool", "Apply", "v1", `{"f:size":{}}`)), []string{"n/a: {tool Apply } no longer owns .spec.color"}},
		"and somebody has come": {object("v1", whole, old, entry("before-first-apply", "Update", "v1", both)),
			[]string{"n/a: {before-first-apply Update } owns fields and did not before"}},
		"the object": {"", []string{"n/a is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			after := map[string][]byte{}
			if c.after != "" {
				after["n/a"] = []byte(c.after)
			}
			lost := faults.Lost(map[string][]byte{"n/a": []byte(before)}, after, faults.Busy{})
			g.Expect(lost).To(HaveLen(len(c.want)), "%v", lost)
			for i := range c.want {
				g.Expect(lost[i]).To(HavePrefix(c.want[i]))
			}
		})
	}
}
