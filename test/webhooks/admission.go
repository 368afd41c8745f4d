package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// patience bounds how long the API server may take to hear of a webhook.
const patience = 2 * time.Minute

// probeName is the object Install pretends to create until the API server asks the webhook about it.
const probeName = "moult-admission-probe"

// Admission is a validating webhook with failure policy Fail: while it is Down, every update is rejected.
type Admission struct {
	*server

	mu       sync.Mutex
	rejected map[string]string // object name → message
	updates  map[string]int    // object name → calls
	probed   bool
}

// NewAdmission starts a webhook that allows everything; nobody calls it before Install.
func NewAdmission() (*Admission, error) {
	a := &Admission{rejected: map[string]string{}, updates: map[string]int{}}
	var err error
	a.server, err = startServer(a)
	return a, err
}

// RejectUpdates rejects updates of the named objects with the message, until Allow.
func (a *Admission) RejectUpdates(message string, names ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		a.rejected[name] = message
	}
}

// Allow accepts updates of the named objects again.
func (a *Admission) Allow(names ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		delete(a.rejected, name)
	}
}

// Calls counts the updates asked about, allowed or not.
func (a *Admission) Calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := 0
	for _, calls := range a.updates {
		sum += calls
	}
	return sum
}

// CallsFor counts the updates of one object.
func (a *Admission) CallsFor(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.updates[name]
}

// Install registers the webhook for updates of the resource, and of its subresources when some are named, such as
// "status". It returns when the API server that config reaches asks the webhook, which takes a moment.
func (a *Admission) Install(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource, subresources ...string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	registration := a.registration(gvr, subresources)
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, registration, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("register the admission webhook for %s: %w", gvr.GroupResource(), err)
	}
	return a.waitAsked(ctx, config, gvr)
}

// Uninstall removes the registration for the resource.
func (a *Admission) Uninstall(ctx context.Context, config *rest.Config, gr schema.GroupResource) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, gr.String(), metav1.DeleteOptions{})
}

func (a *Admission) registration(gvr schema.GroupVersionResource, subresources []string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	resources := []string{gvr.Resource}
	for _, s := range subresources {
		resources = append(resources, gvr.Resource+"/"+s)
	}
	url, fail, none, seconds := a.URL(), admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(5)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: gvr.GroupResource().String()},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "updates." + gvr.Group,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: a.CABundle()},
			AdmissionReviewVersions: []string{"v1"},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			TimeoutSeconds:          &seconds,
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{gvr.Group}, APIVersions: []string{gvr.Version}, Resources: resources,
				},
			}},
		}},
	}
}

// waitAsked creates an object in a dry run, which stores nothing, until the webhook hears of it.
func (a *Admission) waitAsked(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource) error {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	probe, namespace, err := probeFor(config, gvr)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.probed = false
	a.mu.Unlock()
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

	last := error(nil)
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, last = objects.Resource(gvr).Namespace(namespace).Create(ctx, probe, dryRun)
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.probed, nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not ask the admission webhook for %s: %w, last answer: %w", gvr.GroupResource(), err, last)
	}
	return nil
}

func probeFor(config *rest.Config, gvr schema.GroupVersionResource) (probe *unstructured.Unstructured, namespace string, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, "", err
	}
	list, err := client.ServerResourcesForGroupVersion(gvr.GroupVersion().String())
	if err != nil {
		return nil, "", fmt.Errorf("discover %s: %w", gvr.GroupVersion(), err)
	}
	for _, resource := range list.APIResources {
		if resource.Name != gvr.Resource {
			continue
		}
		if resource.Namespaced {
			namespace = metav1.NamespaceDefault
		}
		probe = &unstructured.Unstructured{}
		probe.SetGroupVersionKind(gvr.GroupVersion().WithKind(resource.Kind))
		probe.SetName(probeName)
		return probe, namespace, nil
	}
	return nil, "", fmt.Errorf("%s serves no %s", gvr.GroupVersion(), gvr.Resource)
}

// ServeHTTP answers one AdmissionReview.
func (a *Admission) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = a.judge(review.Request)
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

func (a *Admission) judge(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	a.mu.Lock()
	defer a.mu.Unlock()
	allowed := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	if request.Operation != admissionv1.Update {
		a.probed = a.probed || request.Name == probeName
		return allowed
	}
	a.updates[request.Name]++
	message, rejected := a.rejected[request.Name]
	if !rejected {
		return allowed
	}
	return &admissionv1.AdmissionResponse{UID: request.UID, Result: &metav1.Status{Message: message, Code: http.StatusForbidden}}
}
