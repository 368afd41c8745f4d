package migration_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// What a person has to fix, and what is said about it.

func TestStandsBackWhileTheInTreeMigratorIsAtWork(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.inTreeMigration("Running")
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonStandingBack))
	w.looksAgain()
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonStandingBack))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 10}))
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionFalse)
	w.eventuallyMigrated(10)
}

func (w *world) setCondition(kind string, status apiextensionsv1.ConditionStatus) {
	w.t.Helper()
	w.Eventually(func() error {
		crd := w.Live()
		for i := range crd.Status.Conditions {
			if string(crd.Status.Conditions[i].Type) == kind {
				crd.Status.Conditions[i].Status = status
			}
		}
		if len(crd.Status.Conditions) < 3 {
			crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
				Type: apiextensionsv1.CustomResourceDefinitionConditionType(kind), Status: status, Reason: "Test", LastTransitionTime: metav1.Now(),
			})
		}
		_, err := w.CRDs().UpdateStatus(w.ctx, crd, metav1.UpdateOptions{})
		return err
	}, soon).Should(Succeed())
}

func TestAStorageVersionThatIsNotServedIsSaidPlainly(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false })
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonStorageVersionNotServed))
	w.Expect(w.Condition().Message).To(ContainSubstring("set served: true on version v1"))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = true })
	w.eventuallyMigrated(10)
}

func TestAMissingPermissionNamesTheRuleToAdd(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	user := "forbidden-" + w.GR.Group
	may := func(verbs ...string) []rbacv1.PolicyRule {
		return running.MigrationRules(running.Rule(w.GR.Group, "widgets", verbs...))
	}
	w.controllerAt(running.User(t, cp.Config, user, may("get", "list")...), w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonForbidden))
	w.Expect(w.Condition().Message).To(ContainSubstring(
		fmt.Sprintf(`{apiGroups: [%q], resources: ["widgets"], verbs: ["get", "list", "patch"]}`, w.GR.Group)))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 10}))

	running.Allow(t, cp.Config, user, may("get", "list", "patch")...)
	w.triesAgain()
	w.eventuallyMigrated(10)
}

func TestAnUnusableConversionWebhookIsFoundByOneProbe(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*webhooks.Conversion) error{
		"down":               (*webhooks.Conversion).Down,
		"answering nonsense": func(c *webhooks.Conversion) error { c.Garbage(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook, w := convertedWorld(t, 50)
			w.Expect(breakIt(hook)).To(Succeed())
			writes := &atomic.Int64{}
			w.controllerAt(intercepted(cp.Config, w.countWrites(writes, writes)), w.quick())
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonConversionUnavailable))
			w.Expect(writes.Load()).To(BeZero(), "no object was tried")
			w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

			w.Expect(hook.Heal()).To(Succeed())
			w.triesAgain()
			w.eventuallyMigrated(50)
		})
	}
}

func TestAnObjectThatCannotBeConvertedIsNamedAndStopsNoOther(t *testing.T) {
	t.Parallel()
	hook, w := convertedWorld(t, 40)
	hook.RejectObject("object-00000")
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(And(ContainSubstring("40 of 40 objects, 1 failed"), ContainSubstring("default/object-00000: ConversionFailed")))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1, "v1": 39}))
	w.Expect(hook.Heal()).To(Succeed())
	w.triesAgain()
	w.eventuallyMigrated(40)
}

// convertedWorld has n objects stored at v1alpha1, v1 as the storage version and
// a webhook that converts between them.
func convertedWorld(t *testing.T, n int) (*webhooks.Conversion, *world) {
	t.Helper()
	hook := webhooks.Converting(t)
	return hook, flippedWorld(t, widgets(t).ConversionWebhook(hook.URL(), hook.CABundle()), n)
}

func TestABusyAPIServerIsWaitedForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 20)
	refused := &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isObjectWrite(req) && refused.Add(1) <= 10 {
			if refused.Load()%2 == 0 {
				return refuse(req, http.StatusServiceUnavailable, "ServiceUnavailable", "try later", "", nil), nil
			}
			return refuse(req, http.StatusTooManyRequests, "TooManyRequests", "try later", "", http.Header{"Retry-After": {"1"}}), nil
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.eventuallyMigrated(20)
	w.Expect(refused.Load()).To(BeNumerically(">", 10))
	w.Expect(w.Condition().Message).To(ContainSubstring("0 failed"))
}
