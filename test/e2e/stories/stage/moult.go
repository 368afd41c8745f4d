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
	process             *process.Process
	road                *road
	program, kubeconfig string
}

// StartMoult runs moult-controller until the test ends. Its log is shown if the test fails.
func (s *Stage) StartMoult(t *testing.T, flags ...string) *Moult {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	road, err := newRoad(s.Config)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(road.close)
	moult := &Moult{road: road, program: s.controller, kubeconfig: folder + "/kubeconfig"}
	g.Expect(cluster.WriteKubeconfig(&rest.Config{Host: road.url()}, moult.kubeconfig)).To(Succeed())
	moult.start(t, flags...)
	return moult
}

func (m *Moult) start(t *testing.T, flags ...string) {
	t.Helper()
	g := NewWithT(t)
	started, err := process.Start(process.Command{
		Name:   "moult-controller",
		Path:   m.program,
		Args:   append([]string{"--settle=" + Settle.String(), "--metrics-addr=0", "--health-addr=0"}, flags...),
		Env:    []string{"KUBECONFIG=" + m.kubeconfig},
		LogDir: t.TempDir(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	m.process = started
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(started.Tail(30))
		}
		started.Stop()
	})
	g.Expect(started.Await(t.Context(), "its workers run", started.Logged("Starting workers"))).To(Succeed())
}

// Replace ends it and starts another one with flags in its place, as an upgrade of its Deployment does.
func (m *Moult) Replace(t *testing.T, flags ...string) {
	t.Helper()
	m.Stop()
	m.start(t, flags...)
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
