package migration_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/webhooks"
)

// What a person has to mend, and what is said about it.

func TestStandsBackWhileTheInTreeMigratorIsAtWork(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	w.controller(w.quick())
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonStandingBack))
	w.Consistently(w.stored, "2s", "200ms").Should(Equal(map[string]int{"v1alpha1": 10}))
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionFalse)
	w.eventuallyMigrated(10)
}

func (w *world) setCondition(kind string, status apiextensionsv1.ConditionStatus) {
	w.t.Helper()
	w.Eventually(func() error {
		crd := w.live()
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
		_, err := w.crds.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(w.ctx, crd, metav1.UpdateOptions{})
		return err
	}, soon, "50ms").Should(Succeed())
}

func TestAStorageVersionThatIsNotServedIsSaidPlainly(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false })
	w.controller(w.quick())
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonStorageVersionNotServed))
	w.Expect(w.condition().Message).To(ContainSubstring("set served: true on version v1"))
	w.update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = true })
	w.eventuallyMigrated(10)
}

func TestAMissingPermissionNamesTheRuleToAdd(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	cfg, role := w.restricted("forbidden-"+w.gr.Group, rbacv1.PolicyRule{APIGroups: []string{w.gr.Group}, Resources: []string{"widgets"}, Verbs: []string{"get", "list"}})
	opts := w.quick()
	w.controllerAt(cfg, opts)
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonForbidden))
	w.Expect(w.condition().Message).To(ContainSubstring(
		fmt.Sprintf(`{apiGroups: [%q], resources: ["widgets"], verbs: ["get", "list", "patch"]}`, w.gr.Group)))
	w.Expect(w.stored()).To(Equal(map[string]int{"v1alpha1": 10}))

	role.Rules[len(role.Rules)-1].Verbs = []string{"get", "list", "patch"}
	_, err := kubernetes.NewForConfigOrDie(cp.Config).RbacV1().ClusterRoles().Update(w.ctx, role, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.eventuallyMigrated(10)
}

// restricted is a client configuration of a user who may what the controller
// needs on CRDs, and the given rule.
func (w *world) restricted(user string, rule rbacv1.PolicyRule) (*rest.Config, *rbacv1.ClusterRole) {
	w.t.Helper()
	client := kubernetes.NewForConfigOrDie(cp.Config).RbacV1()
	role, err := client.ClusterRoles().Create(w.ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{apiextensionsv1.GroupName}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{apiextensionsv1.GroupName}, Resources: []string{"customresourcedefinitions/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
			rule,
		},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = client.ClusterRoleBindings().Create(w.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() {
		_ = client.ClusterRoleBindings().Delete(context.Background(), user, metav1.DeleteOptions{})
		_ = client.ClusterRoles().Delete(context.Background(), user, metav1.DeleteOptions{})
	})
	cfg := rest.CopyConfig(cp.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	return cfg, role
}

func TestAnUnusableConversionWebhookIsFoundByOneProbe(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*webhooks.Conversion) error{
		"down":               (*webhooks.Conversion).Down,
		"answering nonsense": func(c *webhooks.Conversion) error { c.Garbage(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			hook, w := convertedWorld(t, 50)
			w.Expect(breakIt(hook)).To(Succeed())
			writes := &atomic.Int64{}
			w.controllerAt(intercepted(cp.Config, w.slowWrites(0, writes)), w.quick())
			w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonConversionUnavailable))
			w.Expect(writes.Load()).To(BeZero(), "no object was tried")
			w.Expect(w.storedVersions()).To(Equal([]string{"v1alpha1", "v1"}))

			w.Expect(hook.Heal()).To(Succeed())
			w.eventuallyMigrated(50)
		})
	}
}

func TestAnObjectThatCannotBeConvertedIsNamedAndStopsNoOther(t *testing.T) {
	t.Parallel()
	hook, w := convertedWorld(t, 40)
	hook.RejectObject("object-00000")
	w.controller(w.quick())
	w.Eventually(w.reason, soon, "50ms").Should(Equal(v1alpha1.ReasonObjectsFailed), func() string { return w.condition().Message })
	w.Expect(w.condition().Message).To(And(ContainSubstring("40 of 40 objects, 1 failed"), ContainSubstring("default/object-00000: ConversionFailed")))
	w.Expect(w.stored()).To(Equal(map[string]int{"v1alpha1": 1, "v1": 39}))
	w.Expect(hook.Heal()).To(Succeed())
	w.eventuallyMigrated(40)
}

// convertedWorld has n objects stored at v1alpha1, v1 as the storage version and
// a webhook that converts between them.
func convertedWorld(t *testing.T, n int) (*webhooks.Conversion, *world) {
	t.Helper()
	hook, err := webhooks.NewConversion()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
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
	w.Expect(w.condition().Message).To(ContainSubstring("0 failed"))
}
