package migration_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/controlplane"
)

// What Moult has not seen, or only after it was over, an API server that lags may still go by.

// The storage version is set to v1alpha1 and back to v1 while the watch of CRDs stands still. So the schemas are as they were, and have
// long been seen. The API server that lags stores at v1alpha1, which does not have the field.
func TestAFlipThereAndBackThatWasNotSeenDropsNoField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Schema("v1alpha1", plain).Schema("v1", withLate).Storage("v1").Build())
	w.Create(lateObjects)
	second, sent := w.second(cp), &atomic.Int64{}
	deaf, hear := w.deaf()
	w.controllerAt(intercepted(w.writesThrough(second, sent), deaf.intercept), w.patient())
	w.eventuallySettling()
	w.triesAgain()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	deaf.shut()
	w.Flip("v1alpha1")
	w.storesAt(second, "v1alpha1")
	w.Expect(second.Pause()).To(Succeed())
	w.Flip("v1")
	w.allGetTheField()
	hear()
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
	w.resumes(second)
}

// storesAt waits until an API server stores at a version.
func (w *world) storesAt(server *controlplane.APIServer, version string) {
	w.t.Helper()
	objects := dynamic.NewForConfigOrDie(server.Config).Resource(w.GR.WithVersion(version)).Namespace("default")
	w.Eventually(func() (string, error) {
		touch := []byte(`{"metadata":{"annotations":{"touched-at":"` + time.Now().Format(time.RFC3339Nano) + `"}}}`)
		if _, err := objects.Patch(w.ctx, "object-00000", types.MergePatchType, touch, metav1.PatchOptions{}); err != nil {
			return "", err
		}
		return cp.Etcd().StoredVersion(w.ctx, w.GR, "default", "object-00000")
	}, soon).Should(Equal(version))
}

// The APIService is given back right before a walk begins. The API server that lists has not heard of that yet.
func TestAnAPIServerThatStillHandsOnProvesNothing(t *testing.T) {
	t.Parallel()
	for name, seen := range map[string]int64{"before Moult looks at the CRD": 1, "between that look and the walk": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := flippedWorld(t, widgets(t), 7)
			w.lie() // storedVersions is clean, so that there is only a check
			second := w.second(cp)
			server := w.aggregated("v1")
			server.HandOver()
			w.Eventually(func() (int, error) {
				list, err := dynamic.NewForConfigOrDie(second.Config).Resource(w.GR.WithVersion("v1")).List(w.ctx, metav1.ListOptions{})
				if err != nil {
					return -1, err
				}
				return len(list.Items), nil
			}, soon).Should(BeZero())
			looks := &atomic.Int64{}
			looks.Store(-1 << 40)
			w.controllerAt(intercepted(w.listsThrough(second), func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/apiservices/"+server.APIService()) && looks.Add(1) == seen {
					w.Expect(second.Pause()).To(Succeed())
					server.TakeBack()
					time.AfterFunc(time.Second, func() { _ = second.Resume() }) // a list may have come to wait at it
				}
				return next.RoundTrip(req)
			}), w.patient())
			w.eventuallySettling()
			w.triesAgain()
			w.eventuallyAggregated(server)
			looks.Store(0)
			w.triesAgain()
			w.Eventually(looks.Load, soon).Should(BeNumerically(">=", seen))
			time.Sleep(3 * time.Second) // in which the list is answered
			w.Expect(w.Reason()).NotTo(Equal(v1alpha1.ReasonMigrated), "with all objects at v1alpha1")
			w.Eventually(func() string {
				w.triesAgain()
				return w.Reason()
			}, soon, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
			w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 7}))
		})
	}
}

// listsThrough sends lists of objects to another API server.
func (w *world) listsThrough(server *controlplane.APIServer) *rest.Config {
	w.t.Helper()
	to, err := url.Parse(server.Config.Host)
	w.Expect(err).NotTo(HaveOccurred())
	return intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isList(req) {
			req = req.Clone(req.Context())
			req.URL.Host, req.Host = to.Host, ""
		}
		return next.RoundTrip(req)
	})
}

// Something before the API server answers each list with an object that has nothing in it.
func TestAnEmptyAnswerProvesNothing(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	w.lie()
	ends := &atomic.Bool{}
	asked := &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !w.isList(req) || ends.Load() {
			return next.RoundTrip(req)
		}
		asked.Add(1)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString("{}")), Request: req}, nil
	}), w.quick())
	w.Eventually(asked.Load, soon).Should(BeNumerically(">", 2))
	w.Expect(w.Reason()).NotTo(Equal(v1alpha1.ReasonMigrated))
	ends.Store(true)
	w.eventuallyMigrated(7)
}

// Two processes with another settle time prove the same CRD.
func TestTwoThatHaveProvedTheSameLeaveTheConditionAlone(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 7)
	opts, other := w.quick(), w.quick()
	other.Settle = 2 * opts.Settle
	w.controller(opts)
	w.controller(other)
	w.Eventually(func() string { return w.Condition().Message }, soon).Should(ContainSubstring("after a settle time of 2s"))
	w.Eventually(func() (bool, error) {
		before := w.Live().ResourceVersion
		time.Sleep(3 * time.Second)
		return w.Live().ResourceVersion == before, nil
	}, soon).Should(BeTrue(), "the condition is written again and again")
	w.Expect(w.Condition().Message).To(ContainSubstring("after a settle time of 2s"))
}
