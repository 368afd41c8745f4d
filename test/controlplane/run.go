package controlplane

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"go.uber.org/goleak"
)

// Run is the body of a TestMain: it puts a control plane into *cp, runs the package's tests, lets go of the control plane
// and exits with the tests' code. The control plane is the shared one that EnvShared names, and without one, or with Own or
// Flag, it is started here and stopped at the end. Tests that pass but leave goroutines running, or CRDs on a shared control
// plane, fail the package and are shown. Ctrl-C, SIGTERM, a panic or a timeout end the tests at once and, by the guard, a control plane started here a
// moment later.
func Run(m *testing.M, cp **ControlPlane, opts ...Option) {
	os.Exit(run(m, cp, opts))
}

func run(m *testing.M, cp **ControlPlane, opts []Option) (code int) {
	_ = os.Unsetenv("GOGC") // it is for compilers: what a test starts collects garbage as it does for its users
	found, err := AttachOrStart(opts...)
	if err != nil {
		return failed(err)
	}
	*cp = found
	defer func() {
		var left error
		if found.attached && code == 0 {
			left = leftBehind(found)
		}
		err := errors.Join(left, found.Stop())
		if err == nil && code == 0 {
			err = leaked(found.attached)
		}
		if err != nil {
			code = failed(err)
		}
	}()
	gomega.SetDefaultEventuallyPollingInterval(pollEvery)
	return m.Run()
}

// New starts a control plane for one test, in which nothing is yet. It ends with the test.
func New(t testing.TB, opts ...Option) *ControlPlane {
	t.Helper()
	g := gomega.NewWithT(t)
	cp, err := Start(opts...)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { g.Expect(cp.Stop()).To(gomega.Succeed()) })
	return cp
}

// pollEvery is how often an Eventually asks that names no interval: each of those that wait at a time asks the API server,
// which all tests share.
const pollEvery = 100 * time.Millisecond

// AttachOrStart is the shared control plane that EnvShared names, or else one of its own. The caller must Stop it, which
// leaves a shared one running.
func AttachOrStart(opts ...Option) (*ControlPlane, error) {
	if dir := os.Getenv(EnvShared); dir != "" && !newOptions(opts).own {
		return attach(dir)
	}
	return Start(opts...)
}

// leaked tells of goroutines that do not end, however long a busy machine takes.
func leaked(attached bool) error {
	const patience = 30 * time.Second
	ignored := notOurs
	if attached {
		ignored = append(ignored, kept...)
	}
	for began := time.Now(); ; {
		err := goleak.Find(ignored...) // asks for about a second
		if err == nil || time.Since(began) > patience {
			return err
		}
	}
}

// notOurs are goroutines that controller-runtime leaves behind when a manager stops.
var notOurs = []goleak.Option{
	// Its watches of metadata filter events in a goroutine that does not notice when nobody reads any more
	// (pkg/cache/internal/informers.go, newGVKFixupWatcher).
	goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
