package running

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/test/controlplane"
)

// Aggregation hands the requests for one version of a group on to an aggregated API server, on loopback, that serves a
// resource without a single object, as a cluster's administrator would set it up.
type Aggregation struct {
	t       testing.TB
	g       Gomega
	cp      *controlplane.ControlPlane
	gvr     schema.GroupVersionResource
	service *unstructured.Unstructured // spec.service of the APIService
}

// apiServices are how the API server knows who answers for a group and version.
var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Aggregated starts such a server, which the API server does not ask before HandOver.
func Aggregated(t testing.TB, cp *controlplane.ControlPlane, gvr schema.GroupVersionResource, kind string) *Aggregation {
	t.Helper()
	a := &Aggregation{t: t, g: NewWithT(t), cp: cp, gvr: gvr}
	server := httptest.NewTLSServer(empty(gvr, kind))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	a.g.Expect(err).NotTo(HaveOccurred())
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	a.g.Expect(err).NotTo(HaveOccurred())

	name := "aggregated-" + address.Port()
	_, err = kubernetes.NewForConfigOrDie(cp.Config).CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: address.Hostname()},
	}, metav1.CreateOptions{})
	a.g.Expect(err).NotTo(HaveOccurred())
	a.service = &unstructured.Unstructured{Object: map[string]any{"namespace": "default", "name": name, "port": port}}
	return a
}

// APIService is its name.
func (a *Aggregation) APIService() string { return a.gvr.Version + "." + a.gvr.Group }

// Service is what the requests are handed on to, as namespace/name.
func (a *Aggregation) Service() string {
	return fmt.Sprintf("%s/%s", a.service.Object["namespace"], a.service.Object["name"])
}

// HandOver points the APIService at the aggregated server, and returns when the API server goes by it.
func (a *Aggregation) HandOver() {
	a.t.Helper()
	a.update(func(o *unstructured.Unstructured) {
		o.SetLabels(nil) // those by which the API server keeps it as it was
		a.g.Expect(unstructured.SetNestedMap(o.Object, a.service.Object, "spec", "service")).To(Succeed())
		a.g.Expect(unstructured.SetNestedField(o.Object, true, "spec", "insecureSkipTLSVerify")).To(Succeed())
	})
	a.g.Eventually(a.answers, Soon).Should(BeTrue())
}

// TakeBack lets the API server answer by itself again, and returns when it does.
func (a *Aggregation) TakeBack() {
	a.t.Helper()
	a.update(func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "spec", "service")
		unstructured.RemoveNestedField(o.Object, "spec", "insecureSkipTLSVerify")
	})
	a.g.Eventually(a.answers, Soon).Should(BeFalse())
}

func (a *Aggregation) update(change func(*unstructured.Unstructured)) {
	a.t.Helper()
	client := dynamic.NewForConfigOrDie(a.cp.Config).Resource(apiServices)
	a.g.Eventually(func() error {
		o, err := client.Get(a.t.Context(), a.APIService(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(o)
		_, err = client.Update(a.t.Context(), o, metav1.UpdateOptions{})
		return err
	}, Soon).Should(Succeed())
}

// answers reports whether it is the aggregated server that is asked.
func (a *Aggregation) answers() (bool, error) {
	list, err := dynamic.NewForConfigOrDie(a.cp.Config).Resource(a.gvr).List(a.t.Context(), metav1.ListOptions{Limit: 1})
	return err == nil && list.GetResourceVersion() == emptyAt, err
}

// emptyAt is the resourceVersion of the aggregated server's lists.
const emptyAt = "1"

// empty is an API server for one resource of which there are no objects. It speaks of metadata in its lists, whatever it
// is asked for.
func empty(gvr schema.GroupVersionResource, kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch path.Base(r.URL.Path) {
		case gvr.Version:
			answer = metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gvr.GroupVersion().String(),
				APIResources: []metav1.APIResource{{Name: gvr.Resource, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list", "patch"}}},
			}
		case gvr.Resource:
			answer = metav1.PartialObjectMetadataList{
				TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
				ListMeta: metav1.ListMeta{ResourceVersion: emptyAt}, Items: []metav1.PartialObjectMetadata{},
			}
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // a client that has gone needs no answer
	})
}
