package setup_test

import (
	"net/http"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Flag("feature-gates", "WatchList=false")) // as by default in Kubernetes 1.33
}

// Where the API server cannot send them one by one, CRDs are read one at a time: a thousand at once take a gigabyte.
func TestCRDsThatOptInAreReadOneAtATime(t *testing.T) {
	g := NewWithT(t)
	want := []string{}
	for _, plural := range []string{"apples", "pears", "plums"} {
		crd := builders.CRD(builders.UniqueGroup(t), plural).OptedIn().Build()
		running.Install(t, cp, crd)
		want = append(want, crd.Name)
	}
	lists := &lists{}
	config := rest.CopyConfig(cp.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { lists.next = next; return lists })
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	crds, err := setup.OptedIn(mgr, v1alpha1.MigrateLabel, func(in any) (any, error) { return in, nil })
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = crds.Start(t.Context()) }()
	g.Expect(crds.WaitForCacheSync(t.Context())).To(BeTrue())

	all := &apiextensionsv1.CustomResourceDefinitionList{}
	g.Expect(crds.List(t.Context(), all)).To(Succeed())
	names := []string{}
	for _, crd := range all.Items {
		names = append(names, crd.Name)
	}
	g.Expect(names).To(ConsistOf(want))
	g.Expect(lists.limits()).To(HaveExactElements("1", "1", "1"))
}

// lists notes the limits of lists.
type lists struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []string
}

// RoundTrip implements http.RoundTripper.
func (l *lists) RoundTrip(request *http.Request) (*http.Response, error) {
	if query := request.URL.Query(); request.Method == http.MethodGet && !query.Has("watch") && query.Has("labelSelector") {
		l.mu.Lock()
		l.seen = append(l.seen, query.Get("limit"))
		l.mu.Unlock()
	}
	return l.next.RoundTrip(request)
}

func (l *lists) limits() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}
