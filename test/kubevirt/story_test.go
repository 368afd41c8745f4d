package kubevirt

import (
	"context"
	"errors"
	"maps"
	"math/rand"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/test/builders"
)

func same(g *WithT, a, b *appsv1.ControllerRevision) bool {
	one, err := resolved(a.Data.Raw)
	g.Expect(err).NotTo(HaveOccurred())
	two, err := resolved(b.Data.Raw)
	g.Expect(err).NotTo(HaveOccurred())
	return equality.Semantic.DeepEqual(one, two)
}

var errKilled = errors.New("killed")

// killed runs a migration that dies at its n-th write: it is not sent, or it is and nobody hears the answer.
func (w *world) killed(n int64, sent bool) {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	var writes atomic.Int64
	_, err := w.migration(func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		i := writes.Add(1)
		if i < n {
			return send()
		}
		if i == n && sent {
			if answer, err := send(); err == nil {
				_ = answer.Body.Close()
			}
		}
		kill()
		return nil, errKilled
	}).Run(ctx)
	if writes.Load() >= n {
		w.Expect(err).To(MatchError(context.Canceled))
	}
}

func TestTwoHundredVirtualMachinesAndTwentySnapshots(t *testing.T) {
	t.Run("moult survivors migrate keeps what it deletes in a file", func(t *testing.T) { story(newWorld(t)) })
	t.Run("the controller keeps it in the successors", func(t *testing.T) {
		w := newWorld(t)
		w.file = ""
		story(w)
	})
}

func story(w *world) {
	t := w.t
	t.Helper()
	var all []*vm
	for i := range 200 {
		m := w.makesVM(i)
		if all = append(all, m); i%10 == 0 || i%30 == 5 {
			w.takesSnapshot(m)
		}
	}
	taken := 0
	for _, m := range all {
		if m.snapshot != "" {
			taken++
		}
	}
	w.Expect(taken).To(BeNumerically(">=", 20))
	w.expectAllResolve(all)
	before := w.revisions()

	luck := rand.New(rand.NewSource(11)) //nolint:gosec // the same kills each time
	for i := range 20 {
		w.killed(1+luck.Int63n(60), i%2 == 0)
		if i%4 == 3 {
			w.expectAllResolve(all)
		}
	}
	w.Expect(slices.Collect(maps.Values(w.revisions()))).To(ContainElement(Not(Equal("v1beta1"))), "the kills were on the way")
	report := w.migrates()
	w.Expect(report.Left).To(BeEmpty())
	w.Expect(report.NotLooked).To(BeEmpty())
	w.Expect(report.Returned).To(BeZero())

	w.expectAllResolve(all)
	after := w.revisions()
	for name, version := range after {
		w.Expect(version).To(Equal("v1beta1"), name)
		r := w.revision(name)
		w.Expect(r.Labels).To(Equal(labelsOf(r.Data.Raw)), "%s has the labels that KubeVirt gives it", name)
		w.Expect(r.OwnerReferences).To(HaveLen(1))
		w.Expect(name).To(HavePrefix(r.OwnerReferences[0].Name+"-"), "from which KubeVirt makes the name of a restored one")
	}
	w.Expect(after).To(HaveLen(len(before)), "one successor for each")
	for name, version := range before {
		if version == "v1beta1" {
			w.Expect(after).To(HaveKey(name), "what is not old is not touched")
		}
	}
	w.expectSaved(before)

	for _, kind := range stashed {
		for _, version := range []string{"v1alpha1", "v1alpha2"} {
			w.Expect(builders.RemoveVersion(t.Context(), cp.Config, crdOf(kind), version)).To(Succeed())
		}
	}
	defer func() {
		for _, kind := range stashed {
			w.Expect(cpDelete(w, crdOf(kind))).To(Succeed())
			w.Expect(builders.Install(context.WithoutCancel(t.Context()), cp.Config, crd(group, kind, false, "v1alpha1", "v1alpha2", "v1beta1"))).To(Succeed())
		}
	}()
	for _, m := range all {
		if m.snapshot != "" {
			w.restores(m)
			m.want = m.wantShot
		}
	}
	w.expectAllResolve(all)
	w.Expect(w.revisions()).To(Equal(after), "a restore finds the VirtualMachine's own, which are equal")
	w.Expect(w.migrates()).To(And(HaveField("Moved", BeZero()), HaveField("Left", BeEmpty()), HaveField("Looks", 1)))
}

// kept is what was removed: in the file, or else in the successors.
func (w *world) kept() (all []*unstructured.Unstructured) {
	w.t.Helper()
	if w.file != "" {
		journal, err := embeddedcopies.OpenFile(w.file)
		w.Expect(err).NotTo(HaveOccurred())
		defer journal.Close()
		return journal.Kept()
	}
	list, err := w.dynamic.Resource(appsv1.SchemeGroupVersion.WithResource("controllerrevisions")).Namespace(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	for i := range list.Items {
		for u := range embeddedcopies.Replaced(&list.Items[i], unpacking.One()) {
			all = append(all, u)
		}
	}
	return all
}

// expectSaved checks that what was removed is kept, as it was.
func (w *world) expectSaved(before map[string]string) {
	w.t.Helper()
	saved := map[string]bool{}
	for _, u := range w.kept() {
		r := &appsv1.ControllerRevision{}
		w.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, r)).To(Succeed())
		saved[r.Name] = true
	}
	for name, version := range before {
		w.Expect(saved[name]).To(Equal(version != "v1beta1"), name)
	}
}
