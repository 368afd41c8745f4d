package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Deletions is a validating webhook that is asked about every deletion of a resource. It allows the first ones and holds
// the others until Release, so that a deletion of a collection is under way for as long as a test wants.
type Deletions struct {
	*server

	mu       sync.Mutex
	left     int // deletions that are allowed at once
	probed   bool
	released chan struct{}
	release  func()
}

// HoldDeletions installs the webhook until the end of the test. It returns when the API server asks it.
func HoldDeletions(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource, first int) *Deletions {
	t.Helper()
	g := gomega.NewWithT(t)
	d := &Deletions{left: first, released: make(chan struct{})}
	d.release = sync.OnceFunc(func() { close(d.released) })
	var err error
	d.server, err = startServer(d)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = d.Close() })
	t.Cleanup(d.Release)

	registrations := kubernetes.NewForConfigOrDie(config).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	registration := d.registration(gvr)
	_, err = registrations.Create(t.Context(), registration, metav1.CreateOptions{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = registrations.Delete(context.Background(), registration.Name, metav1.DeleteOptions{}) })
	g.Eventually(func() bool { return d.asked(t, config, gvr) }, patience).Should(gomega.BeTrue())
	return d
}

// Release allows all deletions from now on, those that are held first.
func (d *Deletions) Release() { d.release() }

// asked deletes an object in a dry run, for the webhook to hear of it.
func (d *Deletions) asked(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource) bool {
	t.Helper()
	objects := dynamic.NewForConfigOrDie(config).Resource(gvr).Namespace(metav1.NamespaceDefault)
	list, err := objects.List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return false
	}
	_ = objects.Delete(t.Context(), list.Items[0].GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.probed
}

func (d *Deletions) registration(gvr schema.GroupVersionResource) *admissionregistrationv1.ValidatingWebhookConfiguration {
	url, fail, none, seconds := d.URL(), admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(30)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "deletions." + gvr.GroupResource().String()},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "deletions." + gvr.Group,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: d.CABundle()},
			AdmissionReviewVersions: []string{"v1"},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			TimeoutSeconds:          &seconds,
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{gvr.Group}, APIVersions: []string{"*"}, Resources: []string{gvr.Resource},
				},
			}},
		}},
	}
}

// ServeHTTP answers one AdmissionReview, or keeps it waiting.
func (d *Deletions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	if review.Request.DryRun == nil || !*review.Request.DryRun {
		d.wait(r.Context())
	} else {
		d.mu.Lock()
		d.probed = true
		d.mu.Unlock()
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

// wait returns at once for the first deletions.
func (d *Deletions) wait(ctx context.Context) {
	d.mu.Lock()
	d.left--
	hold := d.left < 0
	d.mu.Unlock()
	if !hold {
		return
	}
	select {
	case <-d.released:
	case <-ctx.Done():
	}
}
