package migration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/running"
)

// What an aggregated API server answers for a CRD says nothing about what is
// stored under the CRD in etcd.

func TestObjectsThatAnAggregatedServerHidesAreNotProved(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"at the storage version": "v1", "at another served version": "v1alpha1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := flippedWorld(t, widgets(t), 7)
			server := w.aggregated(version)
			server.HandOver()
			w.controller(w.quick())
			w.eventuallyAggregated(server)
			w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 7}))
			w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

			server.TakeBack()
			w.triesAgain()
			w.eventuallyMigrated(7)
		})
	}
}

// The list of the check is answered by the aggregated server; before and after
// it is as it should be.
func TestAnAggregatedServerForTheTimeOfOneListProvesNothing(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	w.lie() // storedVersions is clean, so that there is only a check
	server := w.aggregated("v1")
	handOver := &sync.Once{}
	empty := &atomic.Bool{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (answer *http.Response, err error) {
		if !w.isList(req) {
			return next.RoundTrip(req)
		}
		handOver.Do(func() {
			server.HandOver()
			answer, err = next.RoundTrip(req) //nolint:bodyclose // it is handed on to the client, which closes it
			server.TakeBack()
			empty.Store(err == nil)
		})
		if answer != nil || err != nil {
			return answer, err
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.eventuallyMigrated(7)
	w.Expect(empty.Load()).To(BeTrue(), "the aggregated server was asked")
}

// The proof is complete, and only the trim is left.
func TestNothingIsTrimmedUnderAnAggregatedServer(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	server := w.aggregated("v1")
	trims := &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isTrim(req) && trims.Add(1) == 1 {
			server.HandOver()
			return refuse(req, http.StatusConflict, "Conflict", "somebody else has written it", "", nil), nil
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.eventuallyAggregated(server)
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
	w.Expect(trims.Load()).To(BeEquivalentTo(1))
	server.TakeBack()
	w.triesAgain()
	w.eventuallyMigrated(7)
}

func TestWithoutThePermissionForAPIServicesNothingIsProved(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	user := "unaware-" + w.GR.Group
	objects := running.Rule(w.GR.Group, "widgets", "get", "list", "patch")
	rules := running.MigrationRules(objects)
	for i := range rules {
		if rules[i].Resources[0] == "apiservices" {
			rules[i].Verbs = []string{"list"}
		}
	}
	w.controllerAt(running.User(t, cp.Config, user, rules...), w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonForbidden))
	w.Expect(w.Condition().Message).To(ContainSubstring(`{apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["get"]}`))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
	running.Allow(t, cp.Config, user, running.MigrationRules(objects)...)
	w.triesAgain()
	w.eventuallyMigrated(7)
}

func TestWithoutAnAggregatorTheAPIServerAnswersByItself(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	groups := fmt.Sprintf(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":%q}]}`, w.GR.Group)
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		switch {
		case isAboutAPIServices(req):
			return respond(req, http.StatusNotFound, "text/plain", "404 page not found\n", nil), nil
		case req.URL.Path == "/apis" && req.Header.Get("Accept") == "application/json":
			return respond(req, http.StatusOK, "application/json", groups, nil), nil
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.eventuallyMigrated(7)
}

// The objects are hidden, and a proxy before the API server hides why.
func TestAProxyThatFindsNoAPIServiceProvesNothing(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	w.aggregated("v1").HandOver()
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if isAboutAPIServices(req) {
			return respond(req, http.StatusNotFound, "text/html", "<html>404 Not Found</html>", nil), nil
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.Eventually(w.Reason, soon).Should(BeElementOf(v1alpha1.ReasonUnavailable, v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(ContainSubstring("the answer is not the API server's; look for a proxy before it"))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
}

func isAboutAPIServices(req *http.Request) bool {
	return strings.HasPrefix(req.URL.Path, "/apis/apiregistration.k8s.io/")
}

func TestTheCommandHoldsBackFromAnAggregatedServer(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	server := w.aggregated("v1")
	server.HandOver()
	_, trial := migration.Trial(w.ctx, cp.Config, w.GR.String(), w.quick(), func(migration.Update) {})
	for what, err := range map[string]error{
		"migrate": migration.Run(w.ctx, cp.Config, w.GR.String(), w.quick(), func(migration.Update) {}),
		"dry run": trial,
	} {
		blocked := (*migration.Blocked)(nil)
		w.Expect(errors.As(err, &blocked)).To(BeTrue(), "%s: %v", what, err)
		w.Expect(blocked.Reason).To(Equal(v1alpha1.ReasonAggregatedAPIServer), what)
	}
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 7}))
}

func (w *world) aggregated(version string) *running.Aggregation {
	w.t.Helper()
	return running.Aggregated(w.t, cp, w.GR.WithVersion(version), w.crd.Spec.Names.Kind)
}

func (w *world) eventuallyAggregated(server *running.Aggregation) {
	w.t.Helper()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonAggregatedAPIServer), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(And(ContainSubstring("APIService "+server.APIService()), ContainSubstring("Service "+server.Service())))
}

// isTrim distinguishes the write of storedVersions from that of the condition.
func (w *world) isTrim(req *http.Request) bool {
	return req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, w.GR.String()+"/status") &&
		req.Header.Get("Content-Type") == "application/merge-patch+json"
}
