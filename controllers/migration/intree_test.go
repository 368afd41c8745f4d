package migration_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
)

// Kubernetes' own migrator has left the condition StorageMigrating behind. The real one plays in test/collector.

// inTreeMigration makes a StorageVersionMigration of the world's CRD with a condition. Only Kubernetes 1.37 and newer have it.
func (w *world) inTreeMigration(condition string) dynamic.ResourceInterface {
	w.t.Helper()
	all := dynamic.NewForConfigOrDie(cp.Config).Resource(schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: "v1", Resource: "storageversionmigrations"})
	if cp.Minor < needsInTree {
		return all
	}
	_, err := all.Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": map[string]any{"name": w.crd.Name},
		"spec": map[string]any{"resource": map[string]any{"group": w.GR.Group, "resource": w.GR.Resource}},
	}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.inTreeSays(all, condition)
	return all
}

func (w *world) inTreeSays(all dynamic.ResourceInterface, condition string) {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": condition, "status": "True", "reason": "Test", "message": "2/4 not yet migrated", "lastTransitionTime": metav1.NewTime(time.Now()),
	}}}})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = all.Patch(w.ctx, w.crd.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
}

// needsInTree is the first minor version with the API.
const needsInTree = 37

func TestAnInTreeMigrationThatHasFailedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.inTreeMigration("Failed")
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	w.controller(w.quick())
	if cp.Minor < needsInTree {
		w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonStandingBack))
		return
	}
	w.eventuallyMigrated(10)
	w.Expect(w.Condition().Message).To(HaveSuffix("; Kubernetes' own migrator has ended (StorageVersionMigration " + w.crd.Name +
		": Failed 2/4 not yet migrated) although the condition StorageMigrating is True, so Moult does not wait for it"))
}

func TestAnInTreeMigrationThatNoLongerExistsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	w.controller(w.quick())
	if cp.Minor < needsInTree {
		w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonStandingBack))
		return
	}
	w.eventuallyMigrated(10)
	w.Expect(w.Condition().Message).To(ContainSubstring("has no StorageVersionMigration for this CRD"))
}

func TestWithoutTheRightAnInTreeMigrationIsWaitedForAnHour(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	fake := clocktesting.NewFakeClock(time.Now())
	opts := w.quick()
	opts.Clock = fake
	w.controllerAt(running.User(t, cp.Config, "in-tree-"+w.GR.Group, running.MigrationRules(running.Rule(w.GR.Group, "*", "*"))...), opts)
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonStandingBack))
	fake.Step(time.Hour)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{"example.com/touched": "true"}
	})
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(ContainSubstring("has not ended in an hour, and Moult may not see how far it is"))
}

// The hour is one in which nothing happens, not one by which somebody sets the clock of the machine.
func TestAClockThatIsSetDoesNotEndTheWaitForAnInTreeMigration(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	w.controllerAt(running.User(t, cp.Config, "set-clock-"+w.GR.Group, running.MigrationRules(running.Rule(w.GR.Group, "*", "*"))...), w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonStandingBack))
	for _, by := range []time.Duration{2 * time.Hour, -4 * time.Hour, 2 * time.Hour} {
		w.clock.Set(by)
		w.looksAgain()
		w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonStandingBack))
	}
	w.triesAgain()
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(ContainSubstring("has not ended in an hour, and Moult may not see how far it is"))
}
