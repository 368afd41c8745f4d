package migration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/builders"
)

// A version that is not served and that storedVersions does not name, because somebody trimmed the list without a
// proof. Objects that are still stored at it cannot be read there.

// inTree is the field manager of the in-tree migrator.
const inTree = "migration-runner-controller"

// unserve takes v1alpha1 off the API.
func (w *world) unserve() {
	w.t.Helper()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
}

// trimmedInTree sets storedVersions as the in-tree migrator does, also after a migration that failed.
func (w *world) trimmedInTree() {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": w.crd.Name},
		"status": map[string]any{"storedVersions": []string{"v1"}},
	})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = w.CRDs().Patch(w.ctx, w.crd.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: inTree, Force: new(true)}, "status")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
}

// withoutDefault takes the default of enableMetrics away: a field that is there by default is named by managedFields, too.
func withoutDefault(b *builders.CRDBuilder) {
	b.Schema("v1alpha1", strings.Replace(bridgeBefore, ", default: false", "", 1))
}

// writtenBridges are n that have a field, so that their managedFields have an entry, and some that have more.
func writtenBridges(n int, more map[int]string) map[int]string {
	all := map[int]string{}
	for i := range n {
		all[i] = or(more[i], `{"spec": {"replicas": 1}}`)
	}
	return all
}

// someBridges are five, of which some have fields that v1 lacks.
var someBridges = writtenBridges(5, map[int]string{3: used[11], 4: used[7]})

func TestATrimmedListDoesNotOpenTheWayForALossOfFields(t *testing.T) {
	t.Parallel()
	w := bridges(t, 5, someBridges)
	w.unserve()
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost))
	w.trimmedInTree()
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(And(
		ContainSubstring("objects may be stored at v1alpha1, which is not served, with fields that v1 does not have: spec.authentication.clientId (5 objects), spec.authentication.tokenEndpointUri (5 objects), spec.enableMetrics (5 objects)"),
		ContainSubstring("status.storedVersions was trimmed to [v1] by "+inTree+", without a proof. Serve v1alpha1 until they are rewritten. Nothing is rewritten"),
		ContainSubstring("default/bridge-00 may have spec.authentication.clientId"),
	))
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonFieldsWouldBeLost))
	w.Expect(w.Writes()).To(BeZero())
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 5}))
	w.Expect(w.raw("bridge-04")).To(ContainSubstring(`"clientId":"bridge"`))

	w.allowFieldLoss("spec.authentication.clientId,spec.authentication.tokenEndpointUri,spec.enableMetrics,spec.listeners[*].old,spec.labels.*.old,status.was")
	w.eventuallyMigrated(5)
}

func TestATrimmedListIsNotBelievedAtFirstSight(t *testing.T) {
	t.Parallel()
	w := bridges(t, 5, someBridges)
	w.unserve()
	w.trimmedInTree()
	err := migration.Run(t.Context(), cp.Config, w.crd.Name, w.quick(), func(migration.Update) {})
	w.Expect(err).To(MatchError(And(ContainSubstring(v1alpha1.ReasonFieldsWouldBeLost), ContainSubstring("default/bridge-00 may have spec.authentication.clientId"))))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 5}))
}

func TestAVersionAtWhichNoObjectWasWrittenHoldsNothing(t *testing.T) {
	t.Parallel()
	w := newBridges(t, 5)
	w.unserve()
	w.trimmedInTree()
	w.controller(w.quick())
	w.eventuallyMigrated(5)
}

// newBridges are n that were made at v1, after the flip.
func newBridges(t *testing.T, n int) *world {
	t.Helper()
	w := bridges(t, 0, nil, withoutDefault)
	for i := range n {
		w.Eventually(func() error { // the API server takes a moment to store at another version
			_, err := w.Objects("v1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": w.GR.Group + "/v1", "kind": "Bridge", "metadata": map[string]any{"name": fmt.Sprintf("bridge-%02d", i)}, "spec": map[string]any{"replicas": int64(1)},
			}}, metav1.CreateOptions{})
			return err
		}, soon).Should(Succeed())
	}
	return w
}

// When an object is created, its fields are recorded before mutating admission adds others.
func TestAFieldThatNoEntryNamesIsNotLost(t *testing.T) {
	t.Parallel()
	w := bridges(t, 1, writtenBridges(1, nil), withoutDefault)
	raw := strings.Replace(w.raw("bridge-00"), `"spec":{`, `"spec":{"enableMetrics":true,`, 1) // as admission would have had it
	w.Expect(cp.Etcd().Put(w.ctx, w.GR, "default", "bridge-00", []byte(raw))).To(Succeed())
	w.unserve()
	w.trimmedInTree()
	w.controller(w.quick())
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(And(ContainSubstring("default/bridge-00 may have"), ContainSubstring("spec.enableMetrics")))
	w.Expect(w.raw("bridge-00")).To(ContainSubstring(`"enableMetrics":true`))
}

func TestObjectsWithoutManagedFieldsMayHaveEveryField(t *testing.T) {
	t.Parallel()
	w := newBridges(t, 2)
	_, err := w.Objects("v1").Patch(t.Context(), "bridge-01", types.MergePatchType, []byte(`{"metadata": {"managedFields": [{}]}}`), metav1.PatchOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.unserve()
	w.trimmedInTree()
	w.controller(w.quick())
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(ContainSubstring("default/bridge-01 may have spec.labels.*.old"))
	w.Expect(w.Condition().Message).NotTo(ContainSubstring("bridge-00"))
}

// An API server that still serves the version stores a field there after all objects have been looked at.
func TestAHiddenObjectThatIsWrittenAfterTheLookKeepsItsFields(t *testing.T) {
	t.Parallel()
	w := newBridges(t, 20)
	w.unserve()
	w.trimmedInTree()
	late := sync.OnceFunc(func() {
		object := &unstructured.Unstructured{}
		w.Expect(object.UnmarshalJSON([]byte(w.raw("bridge-13")))).To(Succeed())
		object.SetAPIVersion(w.GR.Group + "/v1alpha1")
		w.Expect(unstructured.SetNestedField(object.Object, true, "spec", "enableMetrics")).To(Succeed())
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "late", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: object.GetAPIVersion(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:enableMetrics": {}}}`)}})
		raw, err := object.MarshalJSON()
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(cp.Etcd().Put(w.ctx, w.GR, "default", "bridge-13", raw)).To(Succeed())
	})
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isList(req) && strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata") {
			late() // after the look, which reads whole objects
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(And(ContainSubstring("default/bridge-13"), ContainSubstring("spec.enableMetrics")))
	w.Expect(w.raw("bridge-13")).To(ContainSubstring(`"enableMetrics":true`))
}
