package inspect

import (
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("a snapshot reads the metrics of its server, which all requests of others make longer"))
}

const soon = running.Soon

// world is one test's CRD, called widgets.<a group of its own>, and the gate that asks for its v1alpha1 to go.
type world struct {
	*WithT
	*running.Gate
	t *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	seen := running.WitnessOf(t, cp, schema.GroupResource{Group: builders.UniqueGroup(t), Resource: "widgets"})
	return &world{WithT: NewWithT(t), Gate: running.GateFor(seen), t: t}
}

// widgets is the world's CRD, stored at v1alpha1.
func (w *world) widgets() *builders.CRDBuilder {
	return builders.CRD(w.GR.Group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1")
}

// install installs the CRD with n objects stored at v1alpha1.
func (w *world) install(crd *builders.CRDBuilder, n int) {
	w.t.Helper()
	running.Install(w.t, cp, crd.Build()).Create(n)
}

// take takes a snapshot of the world's CRD, as its file would be read, which every snapshot can be.
func (w *world) take(cfg *rest.Config, changes ...func(*Options)) *snapshot.Snapshot {
	w.t.Helper()
	opts := Options{Cluster: "test", CRDs: []string{w.GR.String()}, PageSize: 7}
	for _, change := range changes {
		change(&opts)
	}
	taken, err := Take(w.t.Context(), cfg, opts)
	w.Expect(err).NotTo(HaveOccurred())
	content, err := taken.Write()
	w.Expect(err).NotTo(HaveOccurred())
	read, err := snapshot.Read(content)
	w.Expect(err).NotTo(HaveOccurred())
	return read
}

// hasty is a clock on which every pause is over at once.
type hasty struct{ clock.RealClock }

func (hasty) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time)
	close(over)
	return over
}

func (w *world) judge(s *snapshot.Snapshot) snapshot.Answer {
	return s.Judge(snapshot.Ask{CRD: w.GR.String(), Versions: []string{"v1alpha1"}}, time.Now())
}

// intercepted is a way to the API server on which somebody sees every request first.
func intercepted(cfg *rest.Config, see func(*http.Request, http.RoundTripper) (*http.Response, error)) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return see(req, next) })
	})
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// isObjects reports whether a request is a list of the world's objects.
func (w *world) isObjects(req *http.Request) bool {
	return strings.HasPrefix(req.URL.Path, "/apis/"+w.GR.Group+"/") && strings.HasSuffix(req.URL.Path, "/"+w.GR.Resource)
}
