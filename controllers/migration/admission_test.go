package migration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// What admission takes away whenever an object is written, it would take away at Moult's writes, too.

// secretive has 20 objects at v1alpha1, of which every fifth has a field that is taken away at each update once this returns.
func secretive(t *testing.T, remove func(*world)) *world {
	t.Helper()
	schema := `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Schema("v1alpha1", schema).Schema("v1", schema).Build()
	w := newWorld(t, crd)
	w.Create(20, builders.Each(func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"app": "shop"})
		if strings.HasSuffix(o.GetName(), "0") || strings.HasSuffix(o.GetName(), "5") {
			_ = unstructured.SetNestedField(o.Object, "kept", "spec", "secret")
		}
	}))
	remove(w)
	w.Flip("v1")
	return w
}

func removedByWebhook(w *world) {
	webhooks.Removing(w.t, cp.Config, w.GR.WithVersion("v1alpha1"), "object-00000", "spec", "secret")
}

func removedByPolicy(w *world) {
	w.mutateEveryUpdate(admissionregistrationv1.Mutation{
		PatchType: admissionregistrationv1.PatchTypeJSONPatch,
		JSONPatch: &admissionregistrationv1.JSONPatch{
			Expression: `has(object.spec.secret) ? [JSONPatch{op: "remove", path: "/spec/secret"}] : []`,
		},
	})
	w.Eventually(func(g Gomega) {
		object, err := w.Objects("v1alpha1").Patch(w.ctx, "object-00000", types.MergePatchType, []byte(`{"spec":{"size":1}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		g.Expect(err).NotTo(HaveOccurred())
		_, there, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "secret")
		g.Expect(there).To(BeFalse())
	}, soon).Should(Succeed())
}

func TestAFieldThatAdmissionTakesAwayAtEachWriteHoldsItsObject(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*world){"stamp.": removedByWebhook}
	if cp.Minor >= hasMutatingAdmissionPolicy {
		ways["MutatingAdmissionPolicy mutate."] = removedByPolicy
	}
	for name, remove := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := secretive(t, remove)
			w.controller(w.quick())
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), func() string { return w.Condition().Message })
			w.Expect(w.Condition().Message).To(And(ContainSubstring("4 failed"),
				ContainSubstring("default/object-00000: FieldsWouldBeLost: spec.secret would be lost or changed at the write (exempt Moult's, or allow it by moult.dev/allow-field-loss) by a mutating webhook or policy (most likely "+name)))
			w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 16, "v1alpha1": 4}))
			for i := 0; i < 20; i += 5 {
				w.Expect(w.raw(fmt.Sprintf("object-%05d", i))).To(ContainSubstring(`"secret":"kept"`))
			}
			w.Expect(warnings(t, w.Witness, v1alpha1.EventObjectsAltered)()).To(BeEmpty(), "no object was changed")

			w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
				metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AllowFieldLossAnnotation, "spec.secret")
			})
			w.triesAgain()
			w.eventuallyMigrated(20)
			w.Expect(w.raw("object-00000")).NotTo(ContainSubstring(`"secret":"kept"`))
		})
	}
}

// Where nothing is listed that changes objects, and all the same something does, the first object shows it.
func TestWhatChangesObjectsUnlistedIsSeenAtTheFirstWrite(t *testing.T) {
	t.Parallel()
	w := secretive(t, removedByWebhook)
	opts := w.quick()
	opts.MaxInFlight = 1
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/mutatingwebhookconfigurations") {
			return respond(req, http.StatusOK, "application/json", `{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}`, nil), nil
		}
		return next.RoundTrip(req)
	}), opts)
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), func() string { return w.Condition().Message })
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 16, "v1alpha1": 4}))
}

func TestWhereNothingChangesObjectsOneIsAskedAbout(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 20)
	opts, dry := w.quick(), atomic.Int64{}
	opts.MaxInFlight = 1
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.URL.Query().Get("dryRun") != "" {
			dry.Add(1)
		}
		return next.RoundTrip(req)
	}), opts)
	w.eventuallyMigrated(20)
	w.Expect(dry.Load()).To(BeNumerically("<=", 2), "one in the walk that rewrites, one in the walk that checks")
}
