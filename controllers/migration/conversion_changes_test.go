package migration_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// The schemas and the conversion of a CRD decide what a write drops. They change, and each API server hears of it in its own time.

// meters are n bridges, all with a field that v1 calls otherwise: a webhook renames it, and without one it is lost.
func meters(t *testing.T, n int) *world {
	t.Helper()
	all := map[int]string{}
	for i := range n {
		all[i] = `{"spec": {"enableMetrics": true}}`
	}
	return bridges(t, n, all, func(b *builders.CRDBuilder) {
		b.Schema("v1", strings.Replace(bridgeAfter, "replicas:", "metrics: {type: boolean}, replicas:", 1))
	})
}

func renamingMeters(t *testing.T) *webhooks.Conversion {
	t.Helper()
	hook := webhooks.Converting(t)
	hook.Rename("v1", "enableMetrics", "metrics")
	return hook
}

func byWebhook(hook *webhooks.Conversion) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		url := hook.URL()
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: hook.CABundle()}, ConversionReviewVersions: []string{"v1"},
		}}
	}
}

func byNone(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
}

// with counts the objects whose bytes in etcd have a text.
func (w *world) with(text string) (n int) {
	w.t.Helper()
	w.Expect(cp.Etcd().Walk(w.ctx, w.GR, func(s controlplane.Stored) {
		if strings.Contains(string(s.Raw), text) {
			n++
		}
	})).To(Succeed())
	return n
}

const renamed, before = `"metrics":true`, `"enableMetrics":true`

// writesThrough sends writes to objects through another API server, and counts them.
func (w *world) writesThrough(server *controlplane.APIServer, sent *atomic.Int64) *rest.Config {
	w.t.Helper()
	other, err := rest.TransportFor(server.Config)
	w.Expect(err).NotTo(HaveOccurred())
	to, err := url.Parse(server.Config.Host)
	w.Expect(err).NotTo(HaveOccurred())
	return intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !w.isObjectWrite(req) {
			return next.RoundTrip(req)
		}
		sent.Add(1)
		req = req.Clone(req.Context())
		req.URL.Host, req.Host = to.Host, ""
		return other.RoundTrip(req)
	})
}

// A webhook converts from now on, or the storage version has the field now. An API server that stands still has not heard of it, and
// drops the field from all that is written through it.
func TestAnAPIServerThatLagsBehindTheSpecDropsNoField(t *testing.T) {
	t.Parallel()
	const n = 40
	for name, change := range map[string]func(*world) func(*apiextensionsv1.CustomResourceDefinition){
		"a webhook converts from now on": func(w *world) func(*apiextensionsv1.CustomResourceDefinition) { return byWebhook(renamingMeters(w.t)) },
		"the storage version has the field from now on": func(*world) func(*apiextensionsv1.CustomResourceDefinition) {
			return func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Versions[1].Schema = crd.Spec.Versions[0].Schema
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := meters(t, n)
			second := w.second(cp)
			sent := &atomic.Int64{}
			opts := w.quick()
			opts.Settle = time.Minute
			w.controllerAt(w.writesThrough(second, sent), opts)
			w.eventuallySettling()
			w.triesAgain()
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })

			w.Expect(second.Pause()).To(Succeed())
			w.Update(change(w))
			w.Eventually(func() string { return w.Condition().Message }, soon).Should(ContainSubstring("before any object is rewritten"))
			w.Expect(sent.Load()).To(BeZero(), "writes that wait at the API server that stands still")
			w.Expect(second.Resume()).To(Succeed())
			w.Eventually(func() (bool, error) { return w.hasTheField(second.Config) }, soon).Should(BeTrue(), "it has heard of the change")
			w.Eventually(func() string {
				w.triesAgain()
				return w.Reason()
			}, soon, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
			w.Expect(w.with(renamed)+w.with(before)).To(Equal(n), "objects that have the field still")
		})
	}
}

// hasTheField reports whether an API server shows the field of the first object at v1.
func (w *world) hasTheField(config *rest.Config) (bool, error) {
	bridge, err := dynamic.NewForConfigOrDie(config).Resource(w.GR.WithVersion("v1")).Namespace("default").Get(w.ctx, "bridge-00", metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	spec, _, err := unstructured.NestedMap(bridge.Object, "spec")
	return spec["metrics"] == true || spec["enableMetrics"] == true, err
}

// A manifest without the conversion that an operator injects is applied while objects are rewritten, and the operator injects it
// again.
func TestAWebhookThatIsTurnedOffInMidPassLosesNoField(t *testing.T) {
	t.Parallel()
	w := meters(t, 40)
	hook := renamingMeters(t)
	w.Update(byWebhook(hook))
	w.Eventually(func() (bool, error) { return w.hasTheField(cp.Config) }, soon).Should(BeTrue())
	valve, _ := w.midPass(10, w.narrow())
	w.Update(byNone)
	w.eventuallyGivenUp(valve)
	valve.open()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })
	w.Expect([]int{w.with(renamed), w.with(before)}).To(Equal([]int{10, 30}))
	w.Update(byWebhook(hook))
	w.eventuallyMigrated(40)
	w.Expect(w.with(renamed)).To(Equal(40))
}

// When the controller asks whether a webhook converts, one does, and none does when it writes. It does not hear of either.
func TestAWebhookThatWasThereForAMomentLosesNoField(t *testing.T) {
	t.Parallel()
	w := meters(t, 3)
	hook := renamingMeters(t)
	deaf, hear := w.deaf()
	asked := make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	config := intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		isCRD := req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/customresourcedefinitions/"+w.crd.Name)
		if !isCRD || strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata") || isClosed(asked) {
			return deaf.intercept(req, next)
		}
		deaf.shut()
		w.Update(byWebhook(hook))
		answer, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		raw, _ := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(raw))
		w.Update(byNone)
		w.Eventually(func() (bool, error) { return w.hasTheField(cp.Config) }, soon).Should(BeFalse())
		ask()
		return answer, nil
	})
	running.Migration(t, config, running.Quick(w.GR.Group))
	w.Eventually(asked, soon).Should(BeClosed())
	w.Consistently(func() int { return w.with(before) }, 3*time.Second, "100ms").Should(Equal(3))
	hear()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost))
}
