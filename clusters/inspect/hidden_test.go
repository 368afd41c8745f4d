package inspect

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// owning installs another CRD, with three objects that name the world's version.
func (w *world) owning(of schema.GroupResource) *running.Witness {
	w.t.Helper()
	owner := map[string]any{"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "name": "rose", "uid": "1"}
	other := running.Install(w.t, cp, builders.CRD(of.Group, of.Resource).Versions("v1alpha1").Annotation("api-approved.kubernetes.io", "unapproved, for a test").Build())
	other.Create(3, builders.Each(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{owner}, "metadata", "ownerReferences")
	}))
	return other
}

// No name of a resource or of its group shows that its objects are not stored.
func TestObjectsOfACRDAreLookedAtWhateverItsName(t *testing.T) {
	for _, of := range []schema.GroupResource{{Group: "x.metrics.k8s.io", Resource: "gadgets"}, {Group: "metrics.k8s.io", Resource: "pods"}} {
		t.Run(of.String(), func(t *testing.T) {
			w := newWorld(t)
			w.install(w.widgets().Storage("v1"), 0)
			w.owning(of)
			w.Expect(w.owned(w.survive(cp.Config, SurvivorSearch{}))).To(BeEquivalentTo(3))
		})
	}
}

// A CRD may serve no version, and is served again later: what is stored under it names the version still.
func TestObjectsOfACRDThatServesNoVersionAreUnknown(t *testing.T) {
	w := newWorld(t)
	w.install(w.widgets().Storage("v1"), 0)
	other := schema.GroupResource{Group: "unserved." + w.GR.Group, Resource: "gadgets"}
	crd := w.owning(other)
	w.Expect(w.owned(w.survive(cp.Config, SurvivorSearch{}))).To(BeEquivalentTo(3))

	crd.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	var report survivors.Report
	w.Eventually(func() int64 {
		report = w.survive(cp.Config, SurvivorSearch{})
		return w.owned(report)
	}, soon).Should(BeZero())
	w.Expect(report.NotLooked).To(ContainElement(And(HaveField("Resource", other.String()), HaveField("LeftOut", false),
		HaveField("Why", "the API server serves no version of it, so what is stored under the CRD cannot be seen"))))
	of := report.Of(w.GR.String(), w.GR.Group, []string{"v1alpha1"})
	w.Expect(of.Verdict).To(Equal(survivors.NotKnown))
	w.Expect(of.Unread()).To(ContainElement(other.String()))
}

// A CRD that is newer than what the API server has listed first is no hidden one.
func TestACRDThatComesDuringTheLookIsLookedAt(t *testing.T) {
	w := newWorld(t)
	w.install(w.widgets().Storage("v1"), 0)
	other, once := schema.GroupResource{Group: "late." + w.GR.Group, Resource: "gadgets"}, sync.Once{}
	report := w.survive(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/v1/configmaps") {
			once.Do(func() { w.owning(other) })
		}
		return next.RoundTrip(req)
	}), SurvivorSearch{})
	w.Expect(w.owned(report)).To(BeEquivalentTo(3))
	w.Expect(report.NotLooked).NotTo(ContainElement(HaveField("Resource", other.String())))
}
