package inspect

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// referring installs the world's CRD, whose objects refer to one at v1alpha1 as their owner.
func (w *world) referring(n int) {
	w.t.Helper()
	owner := map[string]any{"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "name": "rose", "uid": "1"}
	running.Install(w.t, cp, w.widgets().Storage("v1").Build()).Create(n, builders.Each(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{owner}, "metadata", "ownerReferences")
	}))
}

// survive looks for what names v1alpha1 of the world's CRD.
func (w *world) survive(cfg *rest.Config, search SurvivorSearch) survivors.Report {
	w.t.Helper()
	c, err := Connect(cfg)
	w.Expect(err).NotTo(HaveOccurred())
	c.clock = hasty{}
	search.Places, search.PageSize = survivors.Embedded(), 7
	search.LeaveOut = map[string]string{"secrets": "nobody asked for them"}
	search.Targets, _, err = c.LeavingVersions(w.t.Context(), []string{w.GR.String()}, "", []string{"v1alpha1"})
	w.Expect(err).NotTo(HaveOccurred())
	report, err := c.Survivors(w.t.Context(), search)
	w.Expect(err).NotTo(HaveOccurred())
	return report
}

// owned are the references of the world's own objects, among those of other tests that run beside it.
func (w *world) owned(report survivors.Report) (n int64) {
	for _, g := range report.Found {
		if g.Place == "owner-references" && g.CRD == w.GR.String() {
			n += g.Count
		}
	}
	return n
}

func TestEachResourceIsListedOnceAndAPageAtATime(t *testing.T) {
	w := newWorld(t)
	w.referring(30)
	var mu sync.Mutex
	begun, pages := map[string]int{}, 0
	cfg := intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		query, whole := req.URL.Query(), !strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadataList")
		mu.Lock()
		defer mu.Unlock()
		switch {
		case req.Method != http.MethodGet:
			return nil, fmt.Errorf("the search writes: %s %s", req.Method, req.URL)
		case strings.HasSuffix(req.URL.Path, "/secrets"):
			return nil, fmt.Errorf("the search reads Secrets: %s", req.URL)
		case query.Get("limit") == "": // discovery, or one object
		case w.isObjects(req) && (whole || query.Get("limit") != "7"):
			return nil, fmt.Errorf("objects are listed at once, or whole: %s %s", req.URL, req.Header)
		case w.isObjects(req):
			pages++
		}
		if query.Get("limit") != "" && query.Get("continue") == "" {
			begun[req.URL.Path]++
		}
		return next.RoundTrip(req)
	})
	var told []Progress
	report := w.survive(cfg, SurvivorSearch{Tell: func(p Progress) { told = append(told, p) }})
	w.Expect(w.owned(report)).To(BeEquivalentTo(30))
	w.Expect(pages).To(Equal(5))
	w.Expect(told).To(ContainElement(Progress{CRD: w.GR.String(), Done: 14, Total: 30}))
	w.Expect(begun).To(HaveKeyWithValue("/api/v1/pods", 1))
	w.Expect(begun).To(HaveKeyWithValue("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", 1))
	for path, n := range begun {
		w.Expect(n).To(Equal(1), path)
	}
}

func TestFaultsAreUnknownAndNothingIsCountedTwice(t *testing.T) {
	w := newWorld(t)
	w.referring(30)
	for name, c := range map[string]struct {
		cfg   *rest.Config
		known bool
	}{
		"a list expires and says how to go on":                          {failing(w.isObjects, 3, 1, "Expired", 410, "a token"), true},
		"a list expires and has to start anew":                          {failing(w.isObjects, 3, 1, "Expired", 410, ""), true},
		"the API server is busy for a while":                            {failing(w.isObjects, 2, 2, "TooManyRequests", 429, ""), true},
		"a list that always expires":                                    {failing(w.isObjects, 1, 1000, "Expired", 410, ""), false},
		"an error":                                                      {failing(w.isObjects, 2, 1000, "InternalError", 500, ""), false},
		"the list is not there for a while":                             {failing(w.isObjects, 1, 2, "NotFound", 404, ""), true},
		"a list that is not there, though discovery names the resource": {failing(w.isObjects, 1, 1000, "NotFound", 404, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			report := w.survive(c.cfg, SurvivorSearch{})
			unread := ContainElement(And(HaveField("Resource", w.GR.String()), HaveField("Why", ContainSubstring("fault"))))
			if !c.known {
				g.Expect(report.NotLooked).To(unread)
				g.Expect(report.Verdict).NotTo(Equal(survivors.NoneFound))
				return
			}
			g.Expect(report.NotLooked).NotTo(unread)
			g.Expect(w.owned(report)).To(BeEquivalentTo(30))
		})
	}
}

// first does something when the world's objects are listed for the first time.
func (w *world) first(do func()) *rest.Config {
	var once sync.Once
	return intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isObjects(req) {
			once.Do(do)
		}
		return next.RoundTrip(req)
	})
}

// discovers waits until the world's objects are listed at a version.
func (w *world) discovers(version string) {
	c, err := Connect(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() (string, error) {
		found, _, err := c.find(w.GR)
		return found.at.Version, err
	}, soon).Should(Equal(version))
}

func TestAVersionThatIsNoLongerServedDoesNotHideTheObjects(t *testing.T) {
	w := newWorld(t)
	w.referring(10) // listed at v1, which is preferred
	report := w.survive(w.first(func() {
		running.WitnessOf(t, cp, w.GR).Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[1].Served = false
		})
		w.discovers("v1alpha1")
	}), SurvivorSearch{})
	w.Expect(w.owned(report)).To(BeEquivalentTo(10))
	w.Expect(report.NotLooked).NotTo(ContainElement(HaveField("Resource", w.GR.String())))
}

func TestAResourceThatHasGoneSinceNamesNothing(t *testing.T) {
	w := newWorld(t)
	w.referring(10)
	report := w.survive(w.first(func() {
		w.Expect(running.WitnessOf(t, cp, w.GR).CRDs().Delete(t.Context(), w.GR.String(), metav1.DeleteOptions{})).To(Succeed())
		w.discovers("")
	}), SurvivorSearch{})
	w.Expect(w.owned(report)).To(BeZero())
	w.Expect(report.NotLooked).NotTo(ContainElement(HaveField("Resource", w.GR.String())))
}

func TestEverythingIsReadWholeOnDemand(t *testing.T) {
	w := newWorld(t)
	w.install(w.widgets(), 1)
	objects := running.WitnessOf(t, cp, w.GR).Objects("v1")
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	rose := &list.Items[0]
	w.Expect(unstructured.SetNestedField(rose.Object, w.GR.Group+"/v1alpha1", "spec", "color")).To(Succeed())
	_, err = objects.Update(t.Context(), rose, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	possible := func(report survivors.Report) (paths []string) {
		for _, g := range report.Possible {
			for _, r := range g.References {
				if r.Object.Resource == w.GR.String() {
					paths = append(paths, r.Path)
				}
			}
		}
		return paths
	}
	w.Expect(possible(w.survive(cp.Config, SurvivorSearch{}))).To(BeEmpty())
	w.Expect(possible(w.survive(cp.Config, SurvivorSearch{Everything: true}))).To(Equal([]string{"spec.color"}))
}

func TestPagesOfLargeObjectsAreSmallerAndGrowAgain(t *testing.T) {
	w := newWorld(t)
	w.install(w.widgets().Storage("v1"), 0)
	owner := map[string]any{"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "name": "rose", "uid": "1"}
	owned := builders.Each(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{owner}, "metadata", "ownerReferences")
	})
	at := w.GR.WithVersion("v1")
	w.Expect(builders.CreateObjects(t.Context(), cp.Config, at, "default", 6, owned, builders.Prefix("large"), builders.Payload(900<<10))).To(Succeed())
	w.Expect(builders.CreateObjects(t.Context(), cp.Config, at, "default", 60, owned)).To(Succeed())
	var mu sync.Mutex
	var limits []string
	most := int64(0)
	cfg := intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		answer, err := next.RoundTrip(req)
		if err != nil || !w.isObjects(req) {
			return answer, err
		}
		mu.Lock()
		defer mu.Unlock()
		limits = append(limits, req.URL.Query().Get("limit"))
		answer.Body = &measured{ReadCloser: answer.Body, done: func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			most = max(most, n)
		}}
		return answer, nil
	})
	report := w.survive(cfg, SurvivorSearch{Everything: true})
	w.Expect(w.owned(report)).To(BeEquivalentTo(66), "each is counted once")
	one := slices.Repeat([]string{"1"}, smallPages)
	w.Expect(limits).To(Equal(slices.Concat([]string{"20", "5"}, one, slices.Repeat([]string{"2"}, smallPages), slices.Repeat([]string{"4"}, smallPages), []string{"8", "8"})))
	w.Expect(most).To(BeNumerically("<=", wholePageBytes+1))
}

// measured reports how much was read of a body.
type measured struct {
	io.ReadCloser
	n    int64
	done func(n int64)
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.n += int64(n)
	return n, err
}

func (m *measured) Close() error {
	m.done(m.n)
	return m.ReadCloser.Close()
}

// What is stored under a CRD is not to be seen while an aggregated API server answers for it, which says that there is nothing.
func TestObjectsThatAnAggregatedServerHidesAreUnknown(t *testing.T) {
	w := newWorld(t)
	other := schema.GroupResource{Group: "hidden." + w.GR.Group, Resource: "gadgets"}
	w.install(w.widgets().Storage("v1"), 0)
	owner := map[string]any{"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "name": "rose", "uid": "1"}
	running.Install(t, cp, builders.CRD(other.Group, other.Resource).Versions("v1alpha1").Build()).Create(3, builders.Each(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{owner}, "metadata", "ownerReferences")
	}))
	w.Expect(w.owned(w.survive(cp.Config, SurvivorSearch{}))).To(BeEquivalentTo(3))

	server := running.Aggregated(t, cp, other.WithVersion("v1alpha1"), "Gadget")
	server.HandOver()
	defer server.TakeBack()
	report := w.survive(cp.Config, SurvivorSearch{})
	w.Expect(w.owned(report)).To(BeZero())
	w.Expect(report.NotLooked).To(ContainElement(And(HaveField("Resource", other.String()), HaveField("LeftOut", false), HaveField("Why",
		"APIService "+server.APIService()+" hands the requests for it on to the aggregated API server behind Service "+server.Service()+", so what is stored under the CRD cannot be seen"))))
	of := report.Of(w.GR.String(), w.GR.Group, []string{"v1alpha1"})
	w.Expect(of.Verdict).To(Equal(survivors.NotKnown))
	w.Expect(of.Places).To(ContainElement(And(HaveField("Place", "owner-references"), HaveField("Outcome", survivors.InPart), HaveField("Failed", true))))
	w.Expect(of.Unread()).To(ContainElement(other.String()))
}
