package removal

import (
	"context"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// flux is a cluster with one Kustomization, gate, which applies all VersionRemovals of a namespace, and one that depends on it.
type flux struct {
	client.Client
	status map[string]any
	asked  map[string]int
}

const fluxSpace = "garden"

func (f *flux) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if removal, ok := into.(*v1alpha1.VersionRemoval); ok {
		removal.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{fluxName: "gate", fluxNamespace: fluxSpace}}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (f *flux) one(_ context.Context, _ schema.GroupVersionResource, _ types.NamespacedName, take func(content)) error {
	status := map[string]any{"inventory": map[string]any{"entries": []any{map[string]any{"id": "garden_a_moult.dev_VersionRemoval"}, map[string]any{"id": "garden_b_moult.dev_VersionRemoval"}}}}
	maps.Copy(status, f.status)
	take(content{"status": status})
	return nil
}

func (f *flux) each(_ context.Context, _ schema.GroupVersionResource, _ func(), take func([]map[string]any) error) error {
	item := map[string]any{
		"metadata": map[string]any{"namespace": fluxSpace, "name": "crds"},
		"spec":     map[string]any{"dependsOn": []any{map[string]any{"name": "gate"}}},
	}
	return take([]map[string]any{item})
}

func (f *flux) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	f.asked[o.GetName()]++
	return nil
}

// ready has the Kustomization answer a request.
func (f *flux) ready(token string) {
	f.status = map[string]any{"lastHandledReconcileAt": token, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
}

func TestGatesWaitForAToolThatWasAskedAMomentAgo(t *testing.T) {
	g := NewWithT(t)
	now := testingclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f := &flux{asked: map[string]int{}}
	r := newRequester(tools{client: f, one: f.one, each: f.each}, f, now)
	defer r.queue.ShutDown()
	next := func(after time.Duration, name string, opened time.Time) step {
		now.SetTime(now.Now().Add(after))
		s, err := r.step(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: fluxSpace, Name: name}}, opened)
		g.Expect(err).NotTo(HaveOccurred())
		return s
	}
	begin := now.Now()
	g.Expect(next(time.Second, "stranger", begin)).To(Equal(step{}))
	g.Expect(f.asked).To(BeEmpty(), "the inventory does not have it")

	g.Expect(next(0, "a", begin)).To(Equal(step{poll: true}), "until it has answered")
	token := now.Now().Format(time.RFC3339Nano)
	g.Expect(f.asked).To(Equal(map[string]int{"gate": 1}))
	g.Expect(next(time.Second, "b", begin)).To(Equal(step{}), "it was asked after b had opened")
	g.Expect(next(time.Second, "a", begin)).To(Equal(step{poll: true}))
	f.ready(token)
	g.Expect(next(time.Second, "a", begin)).To(Equal(step{}))
	g.Expect(f.asked).To(Equal(map[string]int{"gate": 1, "crds": 1}))

	again := now.Now()
	g.Expect(next(7*time.Second, "b", again)).To(Equal(step{after: 50 * time.Second}), "ten of the sixty seconds are over")
	g.Expect(next(50*time.Second, "b", again)).To(Equal(step{poll: true}))
	g.Expect(f.asked).To(Equal(map[string]int{"gate": 2, "crds": 1}))
	g.Expect(next(59*time.Second, "b", again)).To(Equal(step{poll: true}), "it does not answer")
	g.Expect(next(time.Second, "b", again)).To(Equal(step{}))
	g.Expect(f.asked).To(Equal(map[string]int{"gate": 2, "crds": 2}), "its dependents may have been waiting for something else")
	g.Expect(next(time.Hour, "stranger", begin)).To(Equal(step{}))
}

// losing has every object lose a field.
type losing struct{}

func (losing) Of(context.Context, schema.GroupVersionResource) (rewrite.AskLoss, func(), error) {
	return func(context.Context, types.NamespacedName, bool) (string, error) {
		return "v1 does not have spec.old", nil
	}, func() {}, nil
}

// settling has every CRD be another one a moment ago.
type settling struct{}

func (settling) Of(context.Context, schema.GroupVersionResource) (rewrite.AskLoss, func(), error) {
	return nil, nil, &rewrite.Settling{CRD: "kustomizations", For: 90 * time.Second}
}

func TestAToolsObjectIsAnnotatedWhenItsCRDHasSettled(t *testing.T) {
	g, f := NewWithT(t), &flux{asked: map[string]int{}}
	now := testingclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := newRequester(tools{client: f, one: f.one, each: f.each, losses: settling{}}, f, now)
	defer r.queue.ShutDown()
	a := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: fluxSpace, Name: "a"}}
	opened := now.Now()
	g.Expect(r.step(t.Context(), a, opened)).To(Equal(step{after: 90 * time.Second}))
	g.Expect(f.asked).To(BeEmpty())
	now.SetTime(opened.Add(90 * time.Second))
	r.tools.losses = nil
	g.Expect(r.step(t.Context(), a, opened)).To(Equal(step{poll: true}))
	g.Expect(f.asked).To(Equal(map[string]int{"gate": 1}))
}

func TestAToolsObjectThatWouldLoseAFieldIsNotAnnotated(t *testing.T) {
	g, f := NewWithT(t), &flux{asked: map[string]int{}}
	err := tools{client: f, losses: losing{}}.annotate(t.Context(), candidate{kustomization, types.NamespacedName{Namespace: fluxSpace, Name: "gate"}}, argoRefresh, "normal")
	g.Expect(err).To(MatchError("Kustomization garden/gate is not annotated, since it would lose fields: v1 does not have spec.old"))
	g.Expect(f.asked).To(BeEmpty())
	g.Expect(tools{client: f}.annotate(t.Context(), candidate{kustomization, types.NamespacedName{Namespace: fluxSpace, Name: "gate"}}, argoRefresh, "normal")).To(Succeed())
	g.Expect(f.asked).To(HaveLen(1))
}
