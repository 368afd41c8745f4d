package inspect

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Whatever is missing is reported with the rule that grants it: the rules that a snapshot names are all that the next
// one needs.
func TestEveryRightThatIsMissingIsReportedWithTheRuleThatGrantsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().OptedIn(), 12)
	user := "reader-" + w.GR.Group
	crds := running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get")
	cfg := running.User(t, cp.Config, user, crds)

	taken := w.take(cfg)
	w.Expect(whats(taken)).To(Equal([]snapshot.What{snapshot.APIServerMetrics, snapshot.ObjectsOfCRD, snapshot.Removals}))
	w.Expect(taken.CRDs).To(ConsistOf(And(HaveField("Name", w.GR.String()), HaveField("Objects", BeNil()))))
	w.Expect(taken.Metrics).To(BeNil())
	rules := []rbacv1.PolicyRule{crds}
	for _, n := range taken.NotRead {
		w.Expect(n.Why).To(And(ContainSubstring("may not be read; it needs "), Not(ContainSubstring(user))))
		w.Expect(n.Rule).NotTo(BeNil())
		rules = append(rules, *n.Rule)
	}

	running.Allow(t, cp.Config, user, rules...)
	w.Eventually(func() []snapshot.What { return whats(w.take(cfg)) }, soon).Should(BeEmpty())
	taken = w.take(cfg)
	w.Expect(*taken.CRDs[0].Objects).To(HaveField("Count", int64(12)))
	w.Expect(taken.Metrics).NotTo(BeNil())
}

func whats(s *snapshot.Snapshot) (all []snapshot.What) {
	for _, n := range s.NotRead {
		all = append(all, n.What)
	}
	return all
}

func TestWithoutTheCRDsNothingIsCalledAbsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets(), 0)
	cfg := running.User(t, cp.Config, "nobody-"+w.GR.Group, running.Rule("", "pods", "get"))
	for name, all := range map[string]bool{"one is asked for": false, "all are": true} {
		t.Run(name, func(t *testing.T) {
			taken := w.take(cfg, func(o *Options) {
				if all {
					o.CRDs = nil
				}
			})
			a := w.judge(taken)
			NewWithT(t).Expect(a.Known).To(BeFalse())
			NewWithT(t).Expect(a.Why).To(ContainSubstring("on customresourcedefinitions in apiextensions.k8s.io"))
		})
	}
}

func TestAllCRDsAreTakenAndOnlyThoseThatMatterLookedThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	single := builders.CRD(w.GR.Group, "gadgets").Build()
	w.install(w.widgets(), 3)
	running.Install(t, cp, single)
	taken := w.take(cp.Config, func(o *Options) { o.CRDs = nil })
	w.Expect(taken.CRDs).To(ContainElements(
		And(HaveField("Name", w.GR.String()), HaveField("Objects", Not(BeNil())), HaveField("OptedIn", false)),
		And(HaveField("Name", single.Name), HaveField("Objects", BeNil())),
	))
	w.Expect(taken.CRDs).To(ContainElement(HaveField("Name", "versionremovals.moult.dev")))
	w.Expect(taken.Named).To(BeEmpty())
	w.Expect(taken.ServerVersion).To(HavePrefix("v1."))

	taken = w.take(cp.Config, func(o *Options) { o.CRDs = []string{single.Name, "absent." + w.GR.Group} })
	w.Expect(taken.CRDs).To(ConsistOf(And(HaveField("Name", single.Name), HaveField("Objects", HaveField("Count", int64(0))))))
	w.Expect(taken.NotRead).To(BeEmpty())
	taken = w.take(cp.Config, func(o *Options) { o.NoObjects = true })
	w.Expect(taken.CRDs[0].Objects).To(BeNil())
	w.Expect(whats(taken)).To(Equal([]snapshot.What{snapshot.ObjectsOfCRD}))
}

func TestRequestsAndWatchesAtAVersionShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	crd := w.widgets().Storage("v1").OptedIn().Build()
	crd.Spec.Versions[0].Deprecated = true
	running.Install(t, cp, crd).Create(3)
	_, err := w.Objects("v1alpha1").List(t.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	var old snapshot.Requests
	w.Eventually(func(g Gomega) {
		watch, err := w.Objects("v1alpha1").Watch(t.Context(), metav1.ListOptions{}) // the API server ends those that began before it knew the CRD well
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(watch.Stop)
		requests := w.take(cp.Config).CRDs[0].Requests
		at := slices.IndexFunc(requests, func(r snapshot.Requests) bool { return r.Version == "v1alpha1" })
		g.Expect(at).NotTo(BeNumerically("<", 0))
		old = requests[at]
		g.Expect(old.Watches).To(BeNumerically(">=", 1))
	}, soon).Should(Succeed())
	w.Expect(old.Deprecated).To(BeTrue())
	w.Expect(old.Counts).To(And(HaveKeyWithValue("LIST", BeNumerically(">=", 1)), HaveKeyWithValue("POST", BeNumerically(">=", 3))))
	kinds := []string{}
	for _, warning := range w.judge(w.take(cp.Config)).Extra {
		kinds = append(kinds, warning.Kind)
	}
	w.Expect(kinds).To(ContainElements(snapshot.KindWatched, snapshot.KindRequested))
}

func TestASnapshotDoesNotCountItsOwnLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().Storage("v1alpha1"), 3)
	w.Eventually(func(g Gomega) { // the API server counts a request a moment after it has answered
		without := w.take(cp.Config, func(o *Options) { o.NoObjects = true })
		with := w.take(cp.Config)
		g.Expect(with.CRDs[0].Objects).To(HaveField("Count", int64(3)))
		g.Expect(with.CRDs[0].Requests).To(Equal(without.CRDs[0].Requests))
	}, soon).Should(Succeed())
}

// Memory does not grow with the number of objects, and nothing is written.
func TestObjectsAreReadByTheirMetadataAPageAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets().OptedIn(), 30)
	var lists atomic.Int64
	cfg := intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method != http.MethodGet {
			return nil, fmt.Errorf("a snapshot writes: %s %s", req.Method, req.URL)
		}
		if w.isObjects(req) {
			lists.Add(1)
			if req.URL.Query().Get("limit") != "7" || !strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadataList") {
				return nil, fmt.Errorf("objects are listed at once, or whole: %s %s", req.URL, req.Header)
			}
		}
		return next.RoundTrip(req)
	})
	var told []Progress
	taken := w.take(cfg, func(o *Options) { o.Tell = func(p Progress) { told = append(told, p) } })
	w.Expect(*taken.CRDs[0].Objects).To(HaveField("Count", int64(30)))
	w.Expect(lists.Load()).To(BeEquivalentTo(5))
	w.Expect(told).To(HaveLen(5))
	w.Expect(told[1]).To(Equal(Progress{CRD: w.GR.String(), Done: 14, Total: 30}))
	w.Expect(taken.NotRead).To(BeEmpty())
}

func TestWhereMoultIsNotInstalledThereAreNoVersionRemovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.widgets(), 0)
	w.Ask()
	newWorld(t).Ask() // about another CRD
	removals := func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/versionremovals") }
	for name, c := range map[string]struct {
		cfg      *rest.Config
		removals int
		notRead  []snapshot.What
	}{
		"it is installed":     {cp.Config, 1, nil},
		"it is not installed": {failing(removals, 1, 1000, "NotFound", 404, ""), 0, nil},
		"a list expires":      {failing(removals, 1, 1, "Expired", 410, ""), 1, nil},
		"a list fails":        {failing(removals, 1, 1000, "InternalError", 500, ""), 0, []snapshot.What{snapshot.Removals}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			taken := w.take(c.cfg)
			g.Expect(taken.Removals).To(HaveLen(c.removals), "those of other CRDs are left out")
			g.Expect(whats(taken)).To(Equal(c.notRead))
		})
	}
}

func TestASnapshotCountsWhatElseNamesAVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.referring(7)
	own, err := survivors.Load(fstest.MapFS{"ours.yaml": {Data: []byte(`{name: ours, title: our owners, resources: [widgets.` + w.GR.Group + `],
  fields: [{path: "metadata.ownerReferences[*]", shape: apiVersion}], effect: losesData, consequence: it is gone, clears: commit, remediation: write it anew,
  evidence: ["https://example.org/ours"], tried: not tried}`)}})
	w.Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		opts Options
		want gomegatypes.GomegaMatcher
	}{
		"nobody asked":          {Options{}, BeNil()},
		"with names":            {Options{References: true}, HaveField("Found", ContainElement(And(HaveField("Place", "owner-references"), HaveField("Count", int64(7)), HaveField("References", HaveLen(5)))))},
		"at places of your own": {Options{References: true, Places: own}, HaveField("Found", ConsistOf(And(HaveField("Place", "ours"), HaveField("Count", int64(7)))))},
		"without":               {Options{References: true, NoNames: true}, HaveField("Found", ContainElement(And(HaveField("Count", int64(7)), HaveField("References", BeEmpty()))))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.opts.Cluster, c.opts.CRDs = "production", []string{w.GR.String()}
			taken, err := Take(t.Context(), cp.Config, c.opts)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(taken.CRDs[0].References).To(c.want)
			content, err := taken.Write()
			g.Expect(err).NotTo(HaveOccurred())
			again, err := snapshot.Read(content)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.Write()).To(Equal(content), "as it is written, it is read")
		})
	}
}
