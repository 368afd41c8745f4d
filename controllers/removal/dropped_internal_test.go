package removal

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/verdict"
)

// removalsOfCRD is a cache in which some VersionRemovals name a CRD.
type removalsOfCRD struct {
	client.Client
	by int
}

func (n *removalsOfCRD) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.VersionRemovalList).Items = make([]v1alpha1.VersionRemoval, n.by)
	return nil
}

func TestACRDIsKeptAsLongAsItIsThereAndAVersionRemovalNamesIt(t *testing.T) {
	const name = "widgets.example.com"
	for how, c := range map[string]struct {
		by   int
		does func(*Reconciler) error
		kept bool
	}{
		"a VersionRemoval of two is deleted": {1, func(r *Reconciler) error { return r.syncApproval(t.Context(), name) }, true},
		"the last VersionRemoval is deleted": {0, func(r *Reconciler) error { return r.syncApproval(t.Context(), name) }, false},
		"the CRD changes":                    {1, func(r *Reconciler) error { return ofCRD(t, r, false) }, true},
		"the CRD is deleted":                 {0, func(r *Reconciler) error { return ofCRD(t, r, true) }, false},
	} {
		t.Run(how, func(t *testing.T) {
			g := NewWithT(t)
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", ResourceVersion: "7"}}
			r := &Reconciler{client: &removalsOfCRD{by: c.by}, crds: newCRDReader(one{crd: crd}, clock.RealClock{}, v1alpha1.MigrateLabel)}
			_, err := r.crds.Get(t.Context(), name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.does(r)).To(Succeed())
			g.Expect(r.crds.known).To(HaveLen(map[bool]int{true: 1, false: 0}[c.kept]))
		})
	}
}

// How a CRD went is known as long as a VersionRemoval names it.
func TestHowACRDWentIsKept(t *testing.T) {
	g, clk := NewWithT(t), testclock.NewFakePassiveClock(time.Unix(100, 0))
	by := &removalsOfCRD{by: 1}
	r := &Reconciler{client: by, crds: newCRDReader(nil, clk, v1alpha1.MigrateLabel)}
	crd := setup.MetadataOf("widgets.example.com")
	crd.UID, crd.Generation = "u", 3
	deleted := func(unseen bool) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		defer queue.ShutDown()
		r.ofCRDs().Delete(t.Context(), event.TypedDeleteEvent[*metav1.PartialObjectMetadata]{Object: crd, DeleteStateUnknown: unseen}, queue)
	}
	deleted(true)
	g.Expect(r.crds.Went(crd.Name, false)).To(Equal(verdict.Went{}), "a watch that was away")
	g.Expect(r.crds.Went(crd.Name, true)).To(Equal(verdict.Went{At: clk.Now()}), "since when it is missed")
	missed := clk.Now()
	clk.SetTime(missed.Add(time.Second))
	g.Expect(r.crds.Went(crd.Name, true).At).To(Equal(missed))
	deleted(false)
	g.Expect(r.crds.Went(crd.Name, true)).To(Equal(verdict.Went{UID: "u", Generation: 3, At: clk.Now()}))
	g.Expect(r.crds.Went(crd.Name, false)).To(Equal(verdict.Went{UID: "u", Generation: 3}), "another one is there")
	r.crds.Drop(crd.Name)
	by.by = 0
	deleted(false)
	g.Expect(r.crds.Went(crd.Name, false)).To(Equal(verdict.Went{}), "no VersionRemoval names it")
}

// ofCRD reports what became of the CRD.
func ofCRD(t *testing.T, r *Reconciler, deleted bool) error {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	crd := setup.MetadataOf("widgets.example.com")
	if deleted {
		r.ofCRDs().Delete(t.Context(), event.TypedDeleteEvent[*metav1.PartialObjectMetadata]{Object: crd}, queue)
		return nil
	}
	r.ofCRDs().Update(t.Context(), event.TypedUpdateEvent[*metav1.PartialObjectMetadata]{ObjectOld: crd, ObjectNew: crd}, queue)
	return nil
}
