package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// StampAnnotation is what a stamping webhook writes.
const StampAnnotation = "example.com/stamp"

// Stamp is what a stamping webhook writes at the moment. It may be called concurrently.
type Stamp func() string

// EachTime is another stamp each time, as the time is.
func EachTime() Stamp {
	times := &atomic.Int64{}
	return func() string { return fmt.Sprint(times.Add(1)) }
}

// stamp is a mutating webhook that stamps every object that is updated. It writes an annotation, or status.phase, or removes a field.
type stamp struct {
	now     Stamp
	status  bool
	removed []string
}

// Stamping registers a stamping webhook for updates of a resource until the end of the test. It returns when the API
// server calls it, which an object of the resource in the namespace default has to show.
func Stamping(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource, now Stamp, object string) {
	t.Helper()
	stamping(t, config, gvr, stamp{now: now}, object, "*", "*/status")
}

// StampingStatus registers one that is called for writes to the status only, and changes nothing else.
func StampingStatus(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource, now Stamp, object string) {
	t.Helper()
	stamping(t, config, gvr, stamp{now: now, status: true}, object, "*/status")
}

// Removing registers one that removes a field from every object that has it, the object among them.
func Removing(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource, object string, field ...string) {
	t.Helper()
	stamping(t, config, gvr, stamp{removed: field}, object, "*")
}

func stamping(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource, s stamp, object string, resources ...string) {
	t.Helper()
	g := gomega.NewWithT(t)
	server, err := startServer(s)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = server.Close() })
	registrations := kubernetes.NewForConfigOrDie(config).AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err = registrations.Create(t.Context(), stampRegistration(server, gvr, resources), metav1.CreateOptions{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() {
		_ = registrations.Delete(context.Background(), gvr.GroupResource().String(), metav1.DeleteOptions{})
	})
	objects := dynamic.NewForConfigOrDie(config).Resource(gvr).Namespace(metav1.NamespaceDefault)
	dryRun := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	g.Eventually(func() bool {
		var subresources []string
		if s.status {
			subresources = []string{"status"}
		}
		stamped, err := objects.Patch(t.Context(), object, types.MergePatchType, []byte(`{"spec":{"size":1}}`), dryRun, subresources...)
		if err != nil {
			return false
		}
		if s.removed != nil {
			_, there, _ := unstructured.NestedFieldNoCopy(stamped.Object, s.removed...)
			return !there
		}
		phase, _, _ := unstructured.NestedString(stamped.Object, "status", "phase")
		return phase != "" || stamped.GetAnnotations()[StampAnnotation] != ""
	}, patience).Should(gomega.BeTrue())
}

func stampRegistration(s *server, gvr schema.GroupVersionResource, resources []string) *admissionregistrationv1.MutatingWebhookConfiguration {
	url, fail, none := s.URL(), admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: gvr.GroupResource().String()},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "stamp." + gvr.Group,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: s.CABundle()},
			AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none,
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{gvr.Group}, APIVersions: []string{"*"}, Resources: resources},
			}},
		}},
	}
}

// ServeHTTP answers one AdmissionReview.
func (s stamp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	patch, _ := json.Marshal(s.change(review.Request.Object.Raw))
	kind := admissionv1.PatchTypeJSONPatch
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: patch, PatchType: &kind}
	review.Request = nil
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
	}
}

// change is a JSON Patch.
func (s stamp) change(raw []byte) []map[string]any {
	if s.status {
		return []map[string]any{{"op": "add", "path": "/status", "value": map[string]any{"phase": s.now()}}}
	}
	object := &unstructured.Unstructured{}
	_ = object.UnmarshalJSON(raw)
	if s.removed != nil {
		if _, there, _ := unstructured.NestedFieldNoCopy(object.Object, s.removed...); !there {
			return []map[string]any{}
		}
		return []map[string]any{{"op": "remove", "path": "/" + strings.Join(s.removed, "/")}}
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[StampAnnotation] = s.now()
	return []map[string]any{{"op": "add", "path": "/metadata/annotations", "value": annotations}}
}
