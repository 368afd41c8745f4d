package migration_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/timeline"
)

// The condition says what was found out about the CRD as it was observed. The CRD changes on the way: the API server must
// refuse the claim, and the next one is about what the CRD is now. A restore of etcd is such a change, and one that no
// test can have in an etcd that others use.
func TestAClaimIsAboutTheCRDThatWasObserved(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 5)
	claims, refused := &atomic.Int64{}, &atomic.Int64{}
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !w.isClaim(req) {
			return next.RoundTrip(req)
		}
		if claims.Add(1) == 1 {
			w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
				metav1.SetMetaDataAnnotation(&crd.ObjectMeta, "x", "y")
			})
		}
		answer, err := next.RoundTrip(req)
		if err == nil && answer.StatusCode == http.StatusConflict {
			refused.Add(1)
		}
		return answer, err
	}), w.quick())
	w.eventuallyMigrated(5)
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
	w.Expect(refused.Load()).To(BeNumerically(">=", 1), "the claim about the CRD as it was before")
}

// Etcd was restored as soon as the timeline has been asked so often: neither the trim nor the condition may follow from what the
// process remembers.
func TestNothingIsClaimedOnceEtcdWasRestored(t *testing.T) {
	for name, c := range map[string]struct {
		intact int64
		stored []string
	}{
		"before the trim":                    {0, []string{"v1alpha1", "v1"}},
		"between the trim and the condition": {1, []string{"v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := flippedWorld(t, widgets(t), 5)
			opts, past := w.quick(), &pastTimeline{}
			past.intact.Store(c.intact)
			opts.Timeline = past
			w.controller(opts)
			w.Eventually(past.asked.Load, soon).Should(BeNumerically(">", c.intact+2), "it is tried again")
			w.Expect(w.StoredVersions()).To(Equal(c.stored))
			w.Expect(w.Reason()).NotTo(Equal(v1alpha1.ReasonMigrated))

			past.intact.Store(math.MaxInt64)
			w.eventuallyMigrated(5)
		})
	}
}

// pastTimeline is of an etcd that is restored after so many questions.
type pastTimeline struct{ asked, intact atomic.Int64 }

func (p *pastTimeline) Check(context.Context) error {
	if p.asked.Add(1) <= p.intact.Load() {
		return nil
	}
	return timeline.ErrRestored
}

// isClaim reports whether a write is of the condition with the status True.
func (w *world) isClaim(req *http.Request) bool {
	if req.Method != http.MethodPatch || !strings.HasSuffix(req.URL.Path, w.GR.String()+"/status") {
		return false
	}
	body, err := io.ReadAll(req.Body)
	w.Expect(err).NotTo(HaveOccurred())
	req.Body = io.NopCloser(bytes.NewReader(body))
	return strings.Contains(string(body), `"status":"True"`)
}
