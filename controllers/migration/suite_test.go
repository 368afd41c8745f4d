package migration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("a test pauses an API server"))
}

const soon = running.Soon

// world is one test's CRD, seen from outside.
type world struct {
	*WithT
	*running.Witness
	t   *testing.T
	ctx context.Context
	crd *apiextensionsv1.CustomResourceDefinition

	clock *running.Clock // of quick options
}

// newWorld installs a CRD.
func newWorld(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *world {
	t.Helper()
	return worldOf(t, crd, running.Install(t, cp, crd))
}

func worldOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, w *running.Witness) *world {
	t.Helper()
	return &world{WithT: NewWithT(t), Witness: w, t: t, ctx: t.Context(), crd: crd, clock: &running.Clock{}}
}

// widgets is a CRD whose objects are stored at v1alpha1, in a group of its own.
func widgets(t *testing.T) *builders.CRDBuilder {
	t.Helper()
	return builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn()
}

// flippedWorld has n objects stored at v1alpha1 and v1 as the storage version.
func flippedWorld(t *testing.T, builder *builders.CRDBuilder, n int) *world {
	t.Helper()
	crd := builder.Build()
	return worldOf(t, crd, running.InstallFlipped(t, cp, crd, n))
}

// eventuallyMigrated waits until the CRD says that it is migrated and checks in
// etcd that it is.
func (w *world) eventuallyMigrated(n int) {
	w.t.Helper()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": n}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
}

// looksAgain has the controller look at the CRD once more. Looks at one CRD come one after the other, and the condition
// is what a look writes last. When it speaks of the change, all that earlier looks have done can be seen.
func (w *world) looksAgain() {
	w.t.Helper()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Names.ShortNames = append(crd.Spec.Names.ShortNames, fmt.Sprintf("again%d", len(crd.Spec.Names.ShortNames)))
	})
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
}

// triesAgain has the controller's clock pass any pause after failures, and wakes the controller.
func (w *world) triesAgain() {
	w.t.Helper()
	w.clock.Leap(time.Hour)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, "woken-at", w.clock.Now().Format(time.RFC3339Nano))
	})
}

// eventuallySettling waits until a settle time that only triesAgain ends has begun. The API server may still be writing the
// APIService of a CRD that is new: then the walk does not count, and is made again after a settle time.
func (w *world) eventuallySettling() {
	w.t.Helper()
	w.Eventually(func() string {
		reason := w.Reason()
		if reason == v1alpha1.ReasonAggregatedAPIServer {
			w.triesAgain()
		}
		return reason
	}, soon).Should(Equal(v1alpha1.ReasonSettling), func() string { return w.Condition().Message })
}

// quick are options that suit tests, scoped to the test's own group.
func (w *world) quick() migration.Options {
	opts := running.Quick(w.GR.Group)
	opts.Clock = w.clock
	return opts
}

// narrow are the same with two writes under way at most.
func (w *world) narrow() migration.Options {
	opts := w.quick()
	opts.MaxInFlight = 2
	return opts
}

// controller runs the reconciler until the test ends or stop is called.
func (w *world) controller(opts migration.Options) (stop func()) {
	w.t.Helper()
	return running.Migration(w.t, cp.Config, opts)
}

func (w *world) controllerAt(cfg *rest.Config, opts migration.Options) (stop func()) {
	w.t.Helper()
	return running.Migration(w.t, cfg, opts)
}
