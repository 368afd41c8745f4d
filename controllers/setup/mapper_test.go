package setup

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// All resources of a cluster, with what a tenant's CRD says of them, can be more than a container holds.
func TestNothingAsksForAllResources(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, answer, "{}")
	}))
	defer api.Close()
	scheme, err := Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(&rest.Config{Host: api.URL}, manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return struct{ meta.RESTMapper }{}, nil }, // whose methods panic
	})
	g.Expect(err).NotTo(HaveOccurred())
	c, err := Client(mgr, nil)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(c.Get(t.Context(), types.NamespacedName{Name: "widgets.example.com"}, &apiextensionsv1.CustomResourceDefinition{})).To(Succeed())
	for _, kind := range []schema.GroupVersionKind{
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}, {Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
	} {
		named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "a"}}
		named.SetGroupVersionKind(kind)
		_ = c.Patch(t.Context(), named, client.RawPatch(types.MergePatchType, []byte("{}"))) // the answer is another object
	}
	g.Expect(asked).To(Equal([]string{
		"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
		"PATCH /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/apps/kustomizations/a", "PATCH /apis/argoproj.io/v1alpha1/namespaces/apps/applications/a",
	}))
}
