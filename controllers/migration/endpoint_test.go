package migration_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

func TestObjectsWithAStatusAreRewrittenThere(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).WithStatus(), 30)
	admission := webhooks.Refusing(t, cp.Config, w.GR.WithVersion("v1"), "no object is named")
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
	user := running.User(t, cp.Config, "no-status-"+w.GR.Group,
		running.MigrationRules(running.Rule(w.GR.Group, "widgets", "get", "list", "patch"))...)
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
	list := &unstructured.UnstructuredList{}
	w.Eventually(func() (err error) { // right after a flip the API server may not be ready to list
		list, err = w.Objects("v1").List(w.ctx, metav1.ListOptions{})
		return err
	}, soon).Should(Succeed())
	owners := map[string][]metav1.ManagedFieldsEntry{}
	for _, o := range list.Items {
		owners[o.GetName()] = o.GetManagedFields()
	}
	return owners
}
