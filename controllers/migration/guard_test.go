package migration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/builders"
)

// Fields that the storage version does not have, where no webhook converts: the API server drops them from every object that is
// stored again, and says nothing.

// A bridge as an operator had it: v1 has lost clientId and tokenEndpointUri of the authentication, and enableMetrics.
const (
	bridgeBefore = `{type: object, properties: {
		spec: {type: object, properties: {
			replicas: {type: integer}, enableMetrics: {type: boolean, default: false},
			authentication: {type: object, properties: {type: {type: string}, clientId: {type: string}, tokenEndpointUri: {type: string}}},
			listeners: {type: array, items: {type: object, properties: {name: {type: string}, old: {type: string}}}},
			labels: {type: object, additionalProperties: {type: object, properties: {old: {type: string}}}}}},
		status: {type: object, properties: {ready: {type: boolean}, was: {type: string}}}}}`
	bridgeAfter = `{type: object, properties: {
		spec: {type: object, properties: {
			replicas: {type: integer},
			authentication: {type: object, properties: {type: {type: string}}},
			listeners: {type: array, items: {type: object, properties: {name: {type: string}}}},
			labels: {type: object, additionalProperties: {type: object}}}},
		status: {type: object, properties: {ready: {type: boolean}}}}}`
)

// bridges has n objects stored at v1alpha1, of which some have more than the rest, and v1 as the storage version.
func bridges(t *testing.T, n int, more map[int]string, change ...func(*builders.CRDBuilder)) *world {
	t.Helper()
	builder := builders.CRD(builders.UniqueGroup(t), "bridges").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		Schema("v1alpha1", bridgeBefore).Schema("v1", bridgeAfter)
	for _, c := range change {
		c(builder)
	}
	w := newWorld(t, builder.Build())
	for i := range n {
		content := map[string]any{}
		w.Expect(json.Unmarshal([]byte(or(more[i], `{}`)), &content)).To(Succeed())
		object := &unstructured.Unstructured{Object: content}
		object.SetAPIVersion(w.GR.Group + "/v1alpha1")
		object.SetKind("Bridge")
		object.SetName(fmt.Sprintf("bridge-%02d", i))
		_, err := w.Objects("v1alpha1").Create(t.Context(), object, metav1.CreateOptions{FieldManager: "kubectl"})
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Flip("v1")
	return w
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// used are the fields of three bridges.
var used = map[int]string{
	7:  `{"spec": {"replicas": 3, "authentication": {"type": "oauth", "clientId": "bridge", "tokenEndpointUri": "https://example.com"}}}`,
	11: `{"spec": {"enableMetrics": true}}`,
	42: `{"spec": {"authentication": {"clientId": "other"}, "listeners": [{"name": "a"}, {"name": "b", "old": "x"}]}}`,
}

func (w *world) allowFieldLoss(fields string) {
	w.t.Helper()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		if crd.Annotations == nil {
			crd.Annotations = map[string]string{}
		}
		crd.Annotations[v1alpha1.AllowFieldLossAnnotation] = fields
	})
}

// raw is what etcd has of an object.
func (w *world) raw(name string) string {
	w.t.Helper()
	raw, err := cp.Etcd().Raw(w.ctx, w.GR, "default", name)
	w.Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

func TestFieldsThatTheStorageVersionDoesNotHaveHoldTheMigration(t *testing.T) {
	t.Parallel()
	w := bridges(t, 50, used)
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })
	message := w.Condition().Message
	w.Expect(message).To(And(
		ContainSubstring("spec.authentication.clientId (2 objects at v1alpha1), spec.authentication.tokenEndpointUri (1 object at v1alpha1), "+
			"spec.enableMetrics (1 object at v1alpha1), spec.listeners[*].old (1 object at v1alpha1). Nothing is rewritten. Other clients' writes lose them now: flip back, or make v1 keep them."),
		ContainSubstring(`annotation moult.dev/allow-field-loss: "spec.authentication.clientId,spec.authentication.tokenEndpointUri,spec.enableMetrics,spec.listeners[*].old" on the CRD`),
		ContainSubstring("default/bridge-11 has spec.enableMetrics"),
	))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 50}), "nothing is rewritten, not even what would lose nothing")
	w.Expect(w.Writes()).To(BeZero())
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
	w.Expect(w.raw("bridge-07")).To(And(ContainSubstring(`"clientId":"bridge"`), ContainSubstring("tokenEndpointUri")))

	w.allowFieldLoss("spec.listeners[1].old")
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(
		ContainSubstring(`The annotation has one that allows nothing: "spec.listeners[1].old" is no path of a field as it is written here; write spec.listeners[*].old`))

	w.allowFieldLoss("spec.authentication.clientId, spec.authentication.tokenEndpointUri, spec.listeners[*].old")
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(
		ContainSubstring("for good: spec.enableMetrics (1 object at v1alpha1). Nothing is rewritten"), "a part is not enough")
	w.Expect(w.Writes()).To(BeZero())

	w.allowFieldLoss("spec.authentication.clientId,spec.authentication.tokenEndpointUri,spec.listeners[*].old,spec.enableMetrics")
	w.eventuallyMigrated(50)
	w.Expect(w.raw("bridge-07")).To(And(Not(ContainSubstring(`"clientId"`)), ContainSubstring(`"replicas":3`)))
}

// What was let go by mistake is kept from the moment at which the permission is taken back.
func TestAPermissionThatIsTakenBackStopsThePass(t *testing.T) {
	t.Parallel()
	all := map[int]string{}
	for i := range 50 {
		all[i] = `{"spec": {"enableMetrics": true}}`
	}
	w := bridges(t, 50, all)
	w.allowFieldLoss("spec.enableMetrics")
	valve, _ := w.midPass(10, w.narrow())
	w.allowFieldLoss("spec.replicas")
	w.eventuallyGivenUp(valve)
	valve.open()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })
	kept := 0
	for i := range 50 {
		if strings.Contains(w.raw(fmt.Sprintf("bridge-%02d", i)), `"enableMetrics":true`) {
			kept++
		}
	}
	w.Expect(kept).To(Equal(40))
}

func TestUnusedFieldsHoldNothing(t *testing.T) {
	t.Parallel()
	w := bridges(t, 20, map[int]string{
		3: `{"spec": {"replicas": 3, "authentication": {"type": "oauth"}}}`,
		4: `{"spec": {"enableMetrics": false}}`, // its default
	})
	w.controller(w.quick())
	w.eventuallyMigrated(20)
}

func TestAVersionThatIsNotServedCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	w := bridges(t, 5, used)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(And(ContainSubstring("objects may be stored at v1alpha1, which is not served"), ContainSubstring("Serve v1alpha1 until they are rewritten"),
		ContainSubstring("spec.labels.*.old")))
	w.Expect(w.Writes()).To(BeZero())
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = true })
	w.eventuallyMigrated(5)
}

// An API server that has not heard of the flip stores an object at the old version after all have been looked at.
func TestAnObjectThatIsWrittenAfterTheLookKeepsItsFields(t *testing.T) {
	t.Parallel()
	w := bridges(t, 20, nil)
	late := sync.OnceFunc(func() {
		raw := strings.Replace(w.raw("bridge-13"), `"metadata":`, `"spec":{"enableMetrics":true},"metadata":`, 1)
		w.Expect(cp.Etcd().Put(w.ctx, w.GR, "default", "bridge-13", []byte(raw))).To(Succeed())
	})
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isObjectWrite(req) || w.isList(req) && strings.Contains(req.URL.Path, "/v1/") && strings.Contains(req.URL.RawQuery, "limit=50") {
			late() // after the look
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(ContainSubstring("default/bridge-13 has spec.enableMetrics"))
	w.Expect(w.raw("bridge-13")).To(ContainSubstring("enableMetrics"))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
}

func TestADryRunReportsWhichFieldsWouldBeLost(t *testing.T) {
	t.Parallel()
	w := bridges(t, 50, used)
	trial := func() (result rewrite.Result, err error) {
		w.Eventually(func() string { // the API server may still write the APIService of a CRD that is new
			result, err = migration.Trial(w.ctx, cp.Config, w.crd.Name, w.quick(), func(migration.Update) {})
			return fmt.Sprint(err)
		}, soon).ShouldNot(ContainSubstring(v1alpha1.ReasonAggregatedAPIServer))
		return result, err
	}
	_, err := trial()
	w.Expect(err).To(MatchError(And(ContainSubstring(v1alpha1.ReasonFieldsWouldBeLost), ContainSubstring("spec.enableMetrics (1 object at v1alpha1)"))))
	w.allowFieldLoss("spec.authentication.clientId,spec.authentication.tokenEndpointUri,spec.enableMetrics,spec.listeners[*].old")
	result, err := trial()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.Fields).To(HaveLen(4))
	w.Expect(w.Writes()).To(BeZero())
}

const schemas = 12

// Whatever the schemas and the objects are: what is let pass reads afterwards as it did before, and what is not is still there.
func TestWhatIsLetPassLosesNothing(t *testing.T) {
	t.Parallel()
	var held, passed atomic.Int64
	t.Run("schemas", func(t *testing.T) {
		for i := range schemas {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				switch isPassed, isHeld := letPass(t, i); {
				case isPassed:
					passed.Add(1)
				case isHeld:
					held.Add(1)
				}
			})
		}
	})
	NewWithT(t).Expect([]int64{held.Load(), passed.Load()}).To(HaveEach(BeNumerically(">", 1)), "held and let pass")
}

// letPass migrates objects of one schema to another, and reports whether they were let pass.
func letPass(t *testing.T, i int) (passed, held bool) {
	t.Helper()
	const objects, first = 5, 24 // seeds with which some are held and some let pass
	old := drawn(first+i, func(rt *rapid.T) apiextensionsv1.JSONSchemaProps { return builders.AnySchema(rt, "old") })
	storage := drawn(first+schemas+i, func(rt *rapid.T) apiextensionsv1.JSONSchemaProps {
		if i%2 == 1 {
			return builders.Successor(rt, old)
		}
		return builders.AnySchema(rt, "storage")
	})
	crd := widgets(t).Build()
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema, crd.Spec.Versions[1].Schema.OpenAPIV3Schema = &old, &storage
	w := newWorld(t, crd)
	for j := range objects {
		content, _ := drawn((first+i)*objects+j, func(rt *rapid.T) any { return builders.ContentOf(rt, old) }).(map[string]any)
		object := &unstructured.Unstructured{Object: content}
		object.SetAPIVersion(w.GR.Group + "/v1alpha1")
		object.SetKind("Widget")
		object.SetName(fmt.Sprintf("o%d", j))
		_, err := w.Objects("v1alpha1").Create(t.Context(), object, metav1.CreateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Flip("v1")
	before := w.readAt("v1alpha1")
	err := migration.Run(t.Context(), cp.Config, crd.Name, w.quick(), func(migration.Update) {})
	w.Expect(w.readAt("v1alpha1")).To(Equal(before), "schemas of case %d", i)
	switch blocked := (*migration.Blocked)(nil); {
	case err == nil:
		w.Expect(w.Stored()).To(Equal(map[string]int{"v1": objects}))
		return true, false
	case errors.As(err, &blocked) && blocked.Reason == v1alpha1.ReasonObjectsFailed:
		return false, false // a field has another type at v1, for which the API server clears managedFields
	default:
		w.Expect(err).To(MatchError(ContainSubstring(v1alpha1.ReasonFieldsWouldBeLost)))
		w.Expect(w.Writes()).To(BeZero())
		return false, true
	}
}

func drawn[T any](seed int, draw func(*rapid.T) T) T {
	return rapid.Custom(func(rt *rapid.T) T {
		rapid.Bool().Draw(rt, "a generator draws something")
		return draw(rt)
	}).Example(seed)
}

// readAt are the objects as a client reads them at a version, without what every write changes.
func (w *world) readAt(version string) (contents []string) {
	w.t.Helper()
	var list *unstructured.UnstructuredList
	w.Eventually(func() (err error) {
		list, err = w.Objects(version).List(w.ctx, metav1.ListOptions{})
		return err
	}, soon).Should(Succeed())
	for _, object := range list.Items {
		delete(object.Object, "metadata")
		raw, err := json.Marshal(object.Object)
		w.Expect(err).NotTo(HaveOccurred())
		contents = append(contents, string(raw))
	}
	return contents
}
