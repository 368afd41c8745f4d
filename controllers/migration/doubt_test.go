package migration_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/plan"
)

// What a person takes back, or doubts, while a walk is under way.

// The controller does not hear of it.
func TestWhatIsTakenBackUnheardStopsThePass(t *testing.T) {
	t.Parallel()
	for name, takeBack := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"the permission to drop a field": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Annotations[v1alpha1.AllowFieldLossAnnotation] = "spec.replicas"
		},
		"the permission to lose owners": func(crd *apiextensionsv1.CustomResourceDefinition) {
			delete(crd.Annotations, v1alpha1.AllowOwnershipLossAnnotation)
		},
		"the leave to go on": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Annotations[v1alpha1.PausedAnnotation] = "true"
		},
		"the label": func(crd *apiextensionsv1.CustomResourceDefinition) { delete(crd.Labels, v1alpha1.MigrateLabel) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 30
			all := map[int]string{}
			for i := range n {
				all[i] = `{"spec": {"enableMetrics": true}}`
			}
			w := bridges(t, n, all)
			w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.enableMetrics", v1alpha1.AllowOwnershipLossAnnotation: "v1alpha1"}
			})
			opts := w.narrow()
			opts.PageSize = 2
			deaf, hear := w.deaf()
			valve := w.valve(4, w.isObjectWrite)
			w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				return deaf.intercept(req, roundTripper(func(req *http.Request) (*http.Response, error) { return valve.intercept(req, next) }))
			}), opts)
			w.Eventually(valve.held.Load, soon, "10ms").Should(BeNumerically(">", 0))
			deaf.shut()
			w.Update(takeBack)
			valve.open()
			// Without the label the condition is withdrawn as soon as the controller reads the CRD anew.
			w.Eventually(func() string { return w.Condition().Message }, soon).Should(Or(ContainSubstring("the CRD allows less than when the walk began"), BeEmpty()))
			kept := 0
			for i := range n {
				if strings.Contains(w.raw(fmt.Sprintf("bridge-%02d", i)), `"enableMetrics":true`) {
					kept++
				}
			}
			w.Expect(kept).To(BeNumerically(">=", n/2), "the pages that were read before are written, and no more")
			hear()
		})
	}
}

// A person puts the old version back into storedVersions while managedFields are looked through, and another client trims the list again.
func TestADoubtDuringASurveyEndsTheClaim(t *testing.T) {
	t.Parallel()
	const n = 10
	w := flippedWorld(t, widgets(t), n)
	opts := w.quick()
	opts.StateStore = migration.NewStateStore()
	valve := w.valve(0, func(req *http.Request) bool { return w.isObjectWrite(req) && w.Reason() == v1alpha1.ReasonMigrated })
	w.controllerAt(intercepted(cp.Config, valve.intercept), opts)
	w.eventuallyMigrated(n)
	opts.StateStore.Ask(w.crd.Name, types.NamespacedName{Name: "gate"}, plan.Removal{Versions: []string{"v1alpha1"}, Since: w.clock.Now()})
	w.Eventually(valve.held.Load, soon, "10ms").Should(BeNumerically(">", 0), "the survey moves entries")

	raw, err := cp.Etcd().Raw(w.ctx, w.GR, "default", "object-00003")
	w.Expect(err).NotTo(HaveOccurred())
	stale := strings.Replace(string(raw), `"apiVersion":"`+w.GR.Group+`/v1"`, `"apiVersion":"`+w.GR.Group+`/v1alpha1"`, 1)
	w.Expect(cp.Etcd().Put(w.ctx, w.GR, "default", "object-00003", []byte(stale))).To(Succeed())
	w.storedVersions(`["v1alpha1","v1"]`)
	w.Eventually(func() bool {
		status, _ := opts.StateStore.Status(w.crd.Name)
		return status.Evidence.Proved
	}, soon).Should(BeFalse())
	w.storedVersions(`["v1"]`)
	time.Sleep(time.Second) // in which the list may be believed
	valve.open()
	w.eventuallyMigrated(n)
}

// storedVersions are written by another client.
func (w *world) storedVersions(list string) {
	w.t.Helper()
	_, err := w.CRDs().Patch(w.ctx, w.crd.Name, types.MergePatchType, []byte(`{"status":{"storedVersions":`+list+`}}`), metav1.PatchOptions{FieldManager: "a-person"}, "status")
	w.Expect(err).NotTo(HaveOccurred())
}
