package migration_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// Objects that are different from all others: each is named, and keeps no other from being migrated.

// updatesWithoutANamespace is the minor version of Kubernetes from which on the API server lets objects be updated
// although their Namespace no longer exists. Then they are migrated as all others (k8s.io/apiserver
// pkg/admission/plugin/namespace/lifecycle).
const updatesWithoutANamespace = 37

// doomed is a namespace that is about to be forced out of existence.
func (w *world) doomed() string {
	w.t.Helper()
	ns, err := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Namespaces().
		Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "doomed-"}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return ns.Name
}

// forceOut finalizes a namespace although objects are left in it, as people do with one that is stuck.
func (w *world) forceOut(name string) {
	w.t.Helper()
	namespaces := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Namespaces()
	w.Expect(namespaces.Delete(w.ctx, name, metav1.DeleteOptions{})).To(Succeed())
	w.Eventually(func() error {
		ns, err := namespaces.Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ns.Spec.Finalizers = nil
		_, err = namespaces.Finalize(w.ctx, ns, metav1.UpdateOptions{})
		return err
	}, soon).Should(Succeed())
}

// strandedWorld has 3 objects, 4 more in a namespace that no longer exists, and v1 as the storage version.
func strandedWorld(t *testing.T, b *builders.CRDBuilder) (w *world, namespace string) {
	t.Helper()
	w = newWorld(t, b.Build())
	namespace = w.doomed()
	w.Create(3)
	w.Expect(builders.CreateObjects(w.ctx, cp.Config, w.GR.WithVersion("v1alpha1"), namespace, 4, builders.Prefix("stranded"))).To(Succeed())
	w.forceOut(namespace)
	w.Flip("v1")
	return w, namespace
}

func (w *world) eventuallyNamedAsStranded(namespace string) {
	w.t.Helper()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(And(ContainSubstring("7 of 7 objects, 4 failed"),
		ContainSubstring(fmt.Sprintf("%s/stranded-00000: NamespaceGone: ", namespace)), ContainSubstring("create the Namespace again")))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 3, "v1alpha1": 4}), "the pass has ended")
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
}

func TestObjectsWithoutANamespaceAreNamedAndNothingIsCalledMigrated(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]func(*builders.CRDBuilder) *builders.CRDBuilder{
		"written to as they are":     func(b *builders.CRDBuilder) *builders.CRDBuilder { return b },
		"written to at their status": (*builders.CRDBuilder).WithStatus,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, namespace := strandedWorld(t, b(widgets(t)))
			w.controller(w.quick())
			if cp.Minor >= updatesWithoutANamespace {
				w.eventuallyMigrated(7)
				return
			}
			w.eventuallyNamedAsStranded(namespace)

			stranded := dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace(namespace)
			for i := range 4 {
				w.Expect(stranded.Delete(w.ctx, fmt.Sprintf("stranded-%05d", i), metav1.DeleteOptions{})).To(Succeed(), "as the message says")
			}
			w.triesAgain()
			w.eventuallyMigrated(3)
		})
	}
}

func TestANamespaceThatIsMadeAgainLetsItsObjectsBeMigrated(t *testing.T) {
	t.Parallel()
	w, namespace := strandedWorld(t, widgets(t).WithStatus())
	w.controller(w.requesting())
	if cp.Minor >= updatesWithoutANamespace {
		w.eventuallyMigrated(7)
		return
	}
	w.eventuallyNamedAsStranded(namespace)
	_, err := kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Namespaces().
		Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.triesAgain()
	w.eventuallyMigrated(7)
}

// What a webhook says about one object may sound as if the webhook were not there.
func TestAnObjectWhoseConversionErrorSoundsLikeADeadWebhookIsNamedAndStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"a service":    `service "db" does not exist`,
		"a connection": `dial tcp 10.0.0.1:5432: connect: connection refused`,
		"a deadline":   `context deadline exceeded`,
		"a refusal":    `the database denied the request`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook, w := convertedWorld(t, 20)
			hook.RejectObjectSaying("object-00000", message)
			w.controller(w.quick())
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), func() string { return w.Condition().Message })
			w.Expect(w.Condition().Message).To(And(ContainSubstring("20 of 20 objects, 1 failed"), ContainSubstring("default/object-00000: ConversionFailed"), ContainSubstring(message[:20]))) // a message is cut where it gets long
			w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1, "v1": 19}))
			w.Expect(hook.Heal()).To(Succeed())
			w.triesAgain()
			w.eventuallyMigrated(20)
		})
	}
}

// hot is a client that writes an object as fast as it can, at v1, until the test or stop ends it.
func (w *world) hot(name string, writers int) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	for range writers {
		objects := w.Objects("v1")
		go func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = objects.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, i), metav1.PatchOptions{FieldManager: "hot-writer"})
			}
		}()
	}
	return cancel
}

// Its entries at v1alpha1 are moved all the same, and no manager loses a field.
func TestAnObjectThatIsWrittenAllTheTimeIsRepaired(t *testing.T) {
	t.Parallel()
	w := ownedWorld(t, widgets(t).WithStatus().Build(), 3)
	_, err := w.Objects("v1alpha1").Patch(w.ctx, "owned-1", types.MergePatchType, []byte(`{"spec":{"size":7}}`), metav1.PatchOptions{FieldManager: "hot-writer"})
	w.Expect(err).NotTo(HaveOccurred(), "the hot writer was an old client once")
	before := w.owners()
	defer w.hot("owned-1", 6)()
	w.Eventually(w.owners, soon).Should(ContainElement(And(HavePrefix("owned-1: hot-writer Update at " + w.GR.Group + "/v1 "))))
	w.controller(w.requesting())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.owners()).To(ConsistOf(w.moved(before)))
}

// A stamp that lasts for a second is the same in both writes by which a check looks at an object. So the second one
// looks as if it had found nothing to change.
func TestAWebhookThatStampsTheSecondDoesNotKeepTheProofFromEnding(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 40)
	stamp, config := w.stampPerWalk()
	webhooks.Stamping(t, cp.Config, w.GR.WithVersion("v1"), stamp, "object-00000")
	w.controllerAt(config, w.quick())
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(And(
		ContainSubstring("most likely stamp."+w.GR.Group+" of MutatingWebhookConfiguration "+w.crd.Name),
		ContainSubstring("such as default/object-00000 (metadata.annotations["+webhooks.StampAnnotation+"])")))
	w.eventuallyMigrated(40)
	w.Expect(w.Writes()).To(BeNumerically("<=", 40*4), "a walk that rewrites, and two that check")
	w.Eventually(warnings(t, w.Witness, v1alpha1.EventObjectsAltered), soon).Should(ContainElement(And(
		ContainSubstring("a mutating webhook or policy (most likely stamp."), ContainSubstring("changed objects when Moult rewrote them, such as default/object-00000 (metadata.annotations["))))
	w.looksAgain()
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
}

// stampPerWalk is a stamp that is another one in each walk of a controller at config, and the same all through it.
func (w *world) stampPerWalk() (stamp webhooks.Stamp, config *rest.Config) {
	lists := &atomic.Int64{}
	return func() string { return fmt.Sprint("walk-", lists.Load()) }, intercepted(cp.Config, w.countLists(lists))
}

// Stamps do not get into an object by a write to its status.
func TestAWebhookThatStampsTheStatusIsNotMet(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).WithStatus(), 10)
	webhooks.Stamping(t, cp.Config, w.GR.WithVersion("v1"), webhooks.EachTime(), "object-00000")
	w.controller(w.quick())
	w.eventuallyMigrated(10)
	w.Expect(w.Writes()).To(BeNumerically("<=", 20), "their creation, and the walk that rewrites")
}

// No walk reads the status, and while the stamp lasts the second write finds nothing to change: an object looks stale at
// each check. Once checks have met their own last write for the third time, it is known to be no sign of that.
func TestAWebhookThatStampsTheStatusDoesNotKeepTheProofFromEnding(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).WithStatus(), 20)
	stamp, config := w.stampPerWalk()
	webhooks.StampingStatus(t, cp.Config, w.GR.WithVersion("v1"), stamp, "object-00000")
	w.controllerAt(config, w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 20}))
	w.Expect(w.Condition().Message).To(ContainSubstring("20 of 20 objects, 0 failed"))
}
