package migration_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/test/webhooks"
)

func TestObjectsWithAStatusAreRewrittenThere(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).WithStatus(), 30)
	admission, err := webhooks.NewAdmission()
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = admission.Close() })
	w.Expect(admission.Install(w.ctx, cp.Config, w.gr.WithVersion("v1"))).To(Succeed())
	t.Cleanup(func() { _ = admission.Uninstall(w.ctx, cp.Config, w.gr) })
	asked := admission.Calls()
	before := w.allOwners()

	byStatus, main := &atomic.Int64{}, &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, w.countWrites(byStatus, main)), w.quick())
	w.eventuallyMigrated(30)
	w.Expect(byStatus.Load()).To(BeNumerically(">=", 30))
	w.Expect(main.Load()).To(BeZero())
	w.Expect(admission.Calls()-asked).To(BeZero(), "admission webhooks of the main resource are not asked")
	w.Expect(w.allOwners()).To(Equal(before), "nobody's fields change hands")
}

func TestWithoutThePermissionForTheStatusTheMainResourceWillDo(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).WithStatus(), 30)
	user, _ := w.restricted("no-status-"+w.gr.Group, rbacv1.PolicyRule{
		APIGroups: []string{w.gr.Group}, Resources: []string{"widgets"}, Verbs: []string{"get", "list", "patch"},
	})
	byStatus, main := &atomic.Int64{}, &atomic.Int64{}
	w.controllerAt(intercepted(user, w.countWrites(byStatus, main)), w.quick())
	w.eventuallyMigrated(30)
	w.Expect(main.Load()).To(BeNumerically(">=", 30))
}

// countWrites counts the writes to objects by endpoint.
func (w *world) countWrites(byStatus, main *atomic.Int64) interceptor {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isObjectWrite(req) {
			if strings.HasSuffix(req.URL.Path, "/status") {
				byStatus.Add(1)
			} else {
				main.Add(1)
			}
		}
		return next.RoundTrip(req)
	}
}

// allOwners are the managedFields of all objects.
func (w *world) allOwners() map[string][]metav1.ManagedFieldsEntry {
	w.t.Helper()
	list, err := dynamic.NewForConfigOrDie(cp.Config).Resource(w.gr.WithVersion("v1")).List(w.ctx, metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	owners := map[string][]metav1.ManagedFieldsEntry{}
	for _, o := range list.Items {
		owners[o.GetName()] = o.GetManagedFields()
	}
	return owners
}
