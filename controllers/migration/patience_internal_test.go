package migration

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/plan"
)

// strollers are walks that each take their time, over CRDs whose schemas take all the room.
type strollers struct {
	*Reconciler
	takes map[string]time.Duration

	mu   sync.Mutex
	done map[string]time.Time
}

// endedAt is zero for a walk that has not ended.
func (s *strollers) endedAt(name string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[name]
}

func (s *strollers) carryOut(ctx context.Context, w *walking) (plan.Outcome, rewrite.Result, error) {
	select {
	case <-time.After(s.takes[w.crd.Name]):
	case <-ctx.Done():
	}
	return plan.Outcome{}, rewrite.Result{}, ctx.Err()
}

func (s *strollers) cut(*walking, rewrite.Result) {}

func (s *strollers) ended(w *walking, _ plan.Outcome, _ rewrite.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[w.crd.Name] = time.Now()
}

func largeCRD(name string, strategy apiextensionsv1.ConversionStrategyType) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: strategy},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: setup.SchemaDigest([]byte("schema"), 1<<20),
			}}},
		},
	}
}

func TestASlowWalkGivesWayToOtherLargeCRDs(t *testing.T) {
	const webhook, none = apiextensionsv1.WebhookConverter, apiextensionsv1.NoneConverter
	for name, c := range map[string]struct {
		first, second       apiextensionsv1.ConversionStrategyType
		takes               [2]time.Duration
		firstDone, lastDone time.Duration // since both have begun; 0 for never
	}{
		"of a tenant, without an end":               {webhook, none, [2]time.Duration{1000 * time.Hour, time.Minute}, 0, 2 * time.Minute},
		"whose CRD has no webhook":                  {none, webhook, [2]time.Duration{time.Hour, time.Minute}, time.Hour, 61 * time.Minute},
		"that ends soon enough":                     {webhook, none, [2]time.Duration{30 * time.Second, time.Minute}, 30 * time.Second, 90 * time.Second},
		"two long ones, of which each ends at last": {webhook, webhook, [2]time.Duration{210 * time.Second, 210 * time.Second}, 570 * time.Second, 780 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				s := &strollers{
					Reconciler: &Reconciler{opts: Options{Room: rewrite.NewRoom()}}, done: map[string]time.Time{},
					takes: map[string]time.Duration{"first": c.takes[0], "second": c.takes[1]},
				}
				w := newWalks(s, clock.RealClock{}, 8)
				began := time.Now()
				crds := map[string]*apiextensionsv1.CustomResourceDefinition{"first": largeCRD("first", c.first), "second": largeCRD("second", c.second)}
				for _, name := range []string{"first", "second"} {
					w.start(&walking{crd: crds[name]})
					synctest.Wait()
				}
				for time.Since(began) < 3*time.Hour {
					select {
					case name := <-w.woken:
						if s.endedAt(name).IsZero() {
							w.start(&walking{crd: crds[name]})
						}
					case <-time.After(time.Hour):
					}
				}
				w.stopAll()
				for name, want := range map[string]time.Duration{"first": c.firstDone, "second": c.lastDone} {
					if want == 0 {
						g.Expect(s.endedAt(name)).To(BeZero())
						continue
					}
					g.Expect(s.endedAt(name)).NotTo(BeZero())
					g.Expect(s.endedAt(name).Sub(began)).To(BeNumerically("~", want, 20*time.Second), name)
				}
			})
		})
	}
}
