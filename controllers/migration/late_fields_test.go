package migration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

// Objects get a field that only the newest schema has, while Moult writes through an API server that has not heard of that schema.

const (
	plain = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}, enabled: {type: boolean},
		payload: {type: string}, parts: {type: array, items: {type: string}}}}}}`
	late = `"late":"kept"`
	// lateObjects are few: a pass has two writes under way at first.
	lateObjects = 12
)

var withLate = strings.Replace(plain, "size:", "late: {type: string}, size:", 1)

// getsTheField has v1 know the field.
func getsTheField(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Versions[1].Schema = builders.CRD("example.com", "widgets").Schema("v1", withLate).Build().Spec.Versions[0].Schema
}

// allGetTheField writes the field into all objects, until etcd has it.
func (w *world) allGetTheField() {
	w.Eventually(func() (int, error) {
		for i := range lateObjects {
			if _, err := w.Objects("v1").Patch(w.ctx, fmt.Sprintf("object-%05d", i), types.MergePatchType, []byte(`{"spec":{`+late+`}}`), metav1.PatchOptions{}); err != nil {
				return 0, err
			}
		}
		return w.with(late), nil
	}, soon).Should(Equal(lateObjects))
}

// second is another API server of a control plane, which knows the CRD as it is.
func (w *world) second(of *controlplane.ControlPlane, more ...controlplane.Option) *controlplane.APIServer {
	w.t.Helper()
	second, err := of.SecondAPIServer(more...)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = second.Stop() })
	w.Expect(builders.WaitServed(w.ctx, second.Config, w.crd)).To(Succeed())
	return second
}

// patient are options with a settle time that only triesAgain ends.
func (w *world) patient() migration.Options {
	opts := w.quick()
	opts.Settle = time.Minute
	return opts
}

// resumes has the API server go on with what waits at it. All objects are migrated then, and have the field.
func (w *world) resumes(second *controlplane.APIServer) {
	w.t.Helper()
	time.Sleep(time.Second) // in which a write may come to wait at it
	w.Expect(second.Resume()).To(Succeed())
	time.Sleep(time.Second) // in which it is carried out
	w.Expect(w.with(late)).To(Equal(lateObjects), "objects that have the field still")
	w.Eventually(func() string {
		w.triesAgain()
		return w.Reason()
	}, soon, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": lateObjects}))
	w.Expect(w.with(late)).To(Equal(lateObjects))
}

func TestAFieldThatComesInMidPassIsKept(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*world, *http.Request) bool{
		"when the objects are listed":       (*world).isList,
		"when the first write is under way": (*world).isObjectWrite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, widgets(t).Schema("v1alpha1", plain).Schema("v1", plain).Build())
			w.Expect(builders.CreateObjects(w.ctx, cp.Config, w.GR.WithVersion("v1"), "default", lateObjects)).To(Succeed())
			w.Flip("v1")
			second, sent := w.second(cp), &atomic.Int64{}
			deaf, hear := w.deaf()
			comes := sync.OnceFunc(func() {
				deaf.shut()
				w.Expect(second.Pause()).To(Succeed())
				w.Update(getsTheField)
				w.allGetTheField()
			})
			w.controllerAt(intercepted(w.writesThrough(second, sent), func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				if at(w, req) {
					comes()
				}
				return deaf.intercept(req, next)
			}), w.patient())
			w.eventuallySettling()
			w.triesAgain()
			w.Eventually(func() int { return w.with(late) }, soon).Should(Equal(lateObjects))
			time.AfterFunc(2*time.Second, hear)
			w.resumes(second)
		})
	}
}

// The API server that lags stores at v1alpha1, which does not have the field.
func TestAFlipToAnotherSchemaDropsNoField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Schema("v1alpha1", plain).Schema("v1", withLate).Build())
	w.Create(lateObjects)
	second, sent := w.second(cp), &atomic.Int64{}
	w.controllerAt(w.writesThrough(second, sent), w.patient())
	w.eventuallySettling()
	w.triesAgain()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	w.Expect(second.Pause()).To(Succeed())
	w.Flip("v1")
	w.allGetTheField()
	w.resumes(second)
}

// The process that has seen the schema come ends, and the next one believes its proof.
func TestASurveyRightAfterTheStartDropsNoField(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t).Schema("v1alpha1", plain).Schema("v1", plain), lateObjects)
	stop := w.controller(w.patient())
	w.Eventually(func() string {
		w.triesAgain()
		return w.Reason()
	}, soon, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
	second, sent := w.second(cp), &atomic.Int64{}
	w.Expect(second.Pause()).To(Succeed())
	w.Update(getsTheField)
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
	w.allGetTheField()
	stop()
	opts := w.patient()
	opts.StateStore = migration.NewStateStore()
	opts.StateStore.Ask(w.crd.Name, types.NamespacedName{Name: "gate"}, plan.Removal{Versions: []string{"v1alpha1"}, Since: w.clock.Now()})
	w.controllerAt(w.writesThrough(second, sent), opts)
	w.resumes(second)
	w.Eventually(func() int { return w.with("/v1alpha1") }, soon).Should(BeZero(), "the survey comes later")
	w.Expect(w.with(late)).To(Equal(lateObjects))
}
