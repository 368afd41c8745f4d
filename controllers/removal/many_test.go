package removal_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/running"
)

// Many VersionRemovals of one CRD.

func TestTenGatesCauseHardlyMoreListsThanOne(t *testing.T) {
	t.Parallel()
	g := flipped(t, 20)
	lists := g.holdLists()
	g.moultAt(lists.on(cp.Config))
	g.Eventually(g.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	before := lists.count.Load()
	for i := range 10 {
		g.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = fmt.Sprintf("gate-%d", i) })
	}
	for i := range 10 {
		g.Name.Name = fmt.Sprintf("gate-%d", i)
		g.eventually("True SafeToRemove")
	}
	g.Expect(lists.count.Load()-before).To(BeNumerically("<=", 4), "one for the first, and as often as those that ask meanwhile can be answered together")
}

func TestGatesThatAskOneAfterTheOtherShareTheirRegularLooks(t *testing.T) {
	t.Parallel()
	g := flipped(t, 20)
	lists := g.holdLists()
	const interval = 4 * time.Second
	running.Moult(t, lists.on(cp.Config), running.Quick(g.GR.Group), removal.Options{Namespaces: []string{g.Name.Namespace}, SurveyInterval: interval})
	for i := range 6 {
		g.Name.Name = fmt.Sprintf("gate-%d", i)
		g.Ask()
		g.eventually("True SafeToRemove")
	}
	before, began := lists.count.Load(), time.Now()
	time.Sleep(3 * interval) // how often they look in that time is what is asked
	g.Expect(lists.count.Load()-before).To(BeNumerically("<=", int64(time.Since(began)/interval)+1), "each gate has a look of its own")
}

// A tenant with many VersionRemovals, and an API server that is slow to take their statuses.
func TestATenantsGatesDoNotHoldUpThoseOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	const many = 150
	g := flipped(t, 5)
	platform := g.Name
	tenant := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-"}}
	g.Expect(g.client.Create(g.ctx, tenant)).To(Succeed())

	answered := &order{}
	m, r := running.Quick(g.GR.Group), removal.Options{Namespaces: []string{platform.Namespace, tenant.Name}}
	stop := g.moult()
	g.Eventually(g.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	stop()
	g.Name.Namespace = tenant.Name
	for i := range many {
		g.Ask(func(r *v1alpha1.VersionRemoval) { r.Name = fmt.Sprintf("gate-%d", i) })
	}
	g.Name = platform
	g.Ask()
	running.Moult(t, via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/status") && strings.Contains(req.URL.Path, "/versionremovals/") {
			time.Sleep(100 * time.Millisecond) // an API server that is slower than this machine
			answered.note(req.URL.Path)
		}
		return next.RoundTrip(req)
	}), m, r)
	g.eventually("True SafeToRemove")
	g.Expect(answered.before("/namespaces/"+platform.Namespace+"/")).To(BeNumerically("<", many/2), "the platform's gate waits for all of the tenant's")
}

// order is the order in which things happened.
type order struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

func (o *order) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintln(&o.seen, what)
}

// before counts the different things that happened before the last one that contains what.
func (o *order) before(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := map[string]bool{}
	count := 0
	for line := range strings.Lines(o.seen.String()) {
		if strings.Contains(line, what) {
			count = len(seen)
			continue
		}
		seen[line] = true
	}
	return count
}
