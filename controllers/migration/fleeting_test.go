package migration_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/test/running"
)

// slowly is an answer of which nothing comes any more once it is stopped, like that of a watch through a network that hangs.
type slowly struct {
	io.ReadCloser
	wait func()
}

func (s slowly) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.wait()
	return n, err
}

// deaf keeps a client from hearing of CRDs, from when it is shut until it is to hear again.
type deaf struct {
	stopped, heard chan struct{}
	shut           func()
}

func (w *world) deaf() (d *deaf, hear func()) {
	d = &deaf{stopped: make(chan struct{}), heard: make(chan struct{})}
	d.shut = sync.OnceFunc(func() { close(d.stopped) })
	hear = sync.OnceFunc(func() { close(d.heard) })
	w.t.Cleanup(hear)
	return d, hear
}

func (d *deaf) intercept(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	answer, err := next.RoundTrip(req)
	if err == nil && req.URL.Query().Get("watch") != "" && strings.HasSuffix(req.URL.Path, "/customresourcedefinitions") {
		answer.Body = slowly{answer.Body, func() {
			if isClosed(d.stopped) {
				<-d.heard
			}
		}}
	}
	return answer, err
}

// While all objects are looked at, the schema of the old version loses a field and gets it back. The controller does not hear of it. The
// look has not seen the field, and the CRD is as it was.
func TestASchemaThatWasAnotherDuringTheLookLosesNoField(t *testing.T) {
	t.Parallel()
	w := bridges(t, 3, map[int]string{1: `{"spec": {"enableMetrics": true}}`})
	deaf, hear := w.deaf()
	looked := make(chan struct{})
	var once sync.Once
	schemaOf := func(text string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			schema := &apiextensionsv1.JSONSchemaProps{}
			w.Expect(yaml.Unmarshal([]byte(text), schema)).To(Succeed())
			for i := range crd.Spec.Versions {
				if crd.Spec.Versions[i].Name == "v1alpha1" {
					crd.Spec.Versions[i].Schema.OpenAPIV3Schema = schema
				}
			}
		}
	}
	shows := func() (bool, error) {
		bridge, err := w.Objects("v1alpha1").Get(t.Context(), "bridge-01", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		spec, _ := bridge.Object["spec"].(map[string]any)
		return spec["enableMetrics"] == true, nil
	}
	config := intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		isLook := w.isList(req) && strings.Contains(req.URL.Path, "/v1alpha1/")
		if isLook {
			once.Do(func() {
				deaf.shut()
				w.Update(schemaOf(bridgeAfter))
				w.Eventually(shows, running.Soon).Should(BeFalse())
			})
		}
		answer, err := deaf.intercept(req, next)
		if err == nil && isLook {
			raw, _ := io.ReadAll(answer.Body)
			answer.Body = io.NopCloser(strings.NewReader(string(raw)))
			w.Update(schemaOf(bridgeBefore))
			w.Eventually(shows, running.Soon).Should(BeTrue())
			if !isClosed(looked) {
				close(looked)
			}
		}
		return answer, err
	})
	running.Migration(t, config, running.Quick(w.GR.Group))
	w.Eventually(looked, running.Soon).Should(BeClosed())
	w.Consistently(func() string {
		raw, err := cp.Etcd().Raw(w.ctx, w.GR, "default", "bridge-01")
		w.Expect(err).NotTo(HaveOccurred())
		return string(raw)
	}, 3*time.Second, "100ms").Should(ContainSubstring(`"enableMetrics":true`))
	hear()
	w.Eventually(w.Reason, running.Soon).Should(Equal("FieldsWouldBeLost"))
}
