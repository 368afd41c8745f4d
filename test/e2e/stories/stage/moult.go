package stage

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/process"
)

// Settle is the settle time of every Moult here. 90 s, the default, are for several API servers.
const Settle = 3 * time.Second

// Moult is a running moult-controller.
type Moult struct {
	process *process.Process
	road    *road
}

// StartMoult runs moult-controller until the test ends. Its log is shown if the test fails.
func (s *Stage) StartMoult(t *testing.T, flags ...string) *Moult {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	road, err := newRoad(s.Config)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(road.close)
	kubeconfig := folder + "/kubeconfig"
	g.Expect(cluster.WriteKubeconfig(&rest.Config{Host: road.url()}, kubeconfig)).To(Succeed())
	moult := &Moult{road: road}
	moult.process, err = process.Start(process.Command{
		Name:   "moult-controller",
		Path:   s.controller,
		Args:   append([]string{"--settle=" + Settle.String(), "--metrics-addr=0", "--health-addr=0"}, flags...),
		Env:    []string{"KUBECONFIG=" + kubeconfig},
		LogDir: folder,
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(moult.process.Tail(30))
		}
		moult.process.Stop()
	})
	g.Expect(moult.process.Await(t.Context(), "its workers run", moult.process.Logged("Starting workers"))).To(Succeed())
	return moult
}

// Stop ends it, as a kubelet does when its Deployment is deleted.
func (m *Moult) Stop() { m.process.Stop() }

// SlowWrites makes every write of a widget by Moult take that much longer, from now on and for the writes under way; 0 is
// full speed.
func (m *Moult) SlowWrites(delay time.Duration) { m.road.slow(delay) }

// SlowPass slows the writes so much that a pass over all objects takes a minute and a half: longer than what a story has
// to show meanwhile. SlowWrites(0) ends it.
func (m *Moult) SlowPass(objects int) {
	const inFlight = 16 // moult-controller's default for --max-in-flight
	m.SlowWrites(inFlight * 90 * time.Second / time.Duration(objects))
}
