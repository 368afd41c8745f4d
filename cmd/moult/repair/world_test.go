package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/test/builders"
)

// operator is the field manager that sets owner references.
const operator = "widget-operator"

// world is a test's CRD, which is stored at v1 and serves v1alpha1, and an owner.
type world struct {
	*clitest.World
	namespace string
	owner     *unstructured.Unstructured
}

func newWorld(t *testing.T) *world {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := &world{World: suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Label(group+"/migrate", "true"))}
	w.namespace = w.Namespace()
	w.owner = w.creates(w.namespace, "rose")
	return w
}

// creates an owner.
func (w *world) creates(namespace, name string) *unstructured.Unstructured {
	w.T.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.GR.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name}}}
	created, err := dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace(namespace).Create(w.T.Context(), object, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return created
}

// refers is a reference to an owner at v1alpha1.
func (w *world) refers(owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: w.GR.Group + "/v1alpha1", Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)}
}

func client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(cp.Config) }

// owns creates a ConfigMap that has owners.
func (w *world) owns(namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	w.T.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}, Data: map[string]string{"a": "b"}}
	c, err := client().CoreV1().ConfigMaps(namespace).Create(w.T.Context(), c, metav1.CreateOptions{FieldManager: operator})
	w.Expect(err).NotTo(HaveOccurred())
	return c
}

func (w *world) now(c *corev1.ConfigMap) *corev1.ConfigMap {
	w.T.Helper()
	c, err := client().CoreV1().ConfigMaps(c.Namespace).Get(w.T.Context(), c.Name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return c
}

// moved is a reference as it is to be: nothing else of it may change.
func (w *world) moved(ref metav1.OwnerReference) metav1.OwnerReference {
	ref.APIVersion = w.GR.Group + "/v1"
	return ref
}

// removes v1alpha1 from the CRD.
func (w *world) removes() {
	w.T.Helper()
	status := []byte(`{"status":{"storedVersions":["v1"]}}`)
	_, err := w.CRDs().Patch(w.T.Context(), w.CRD.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		kept := crd.Spec.Versions[:0]
		for _, v := range crd.Spec.Versions {
			if v.Name == "v1" {
				kept = append(kept, v)
			}
		}
		crd.Spec.Versions = kept
	})
}

// repairs with -o json.
func (w *world) repairs(args ...string) (document, int) {
	w.T.Helper()
	got := w.Run(append([]string{"repair", "owners", w.CRD.Name, "-o", "json", "--settle=1s"}, args...)...)
	d := document{}
	w.Expect(json.Unmarshal([]byte(got.Out), &d)).To(Succeed(), got.Out+got.ErrOut)
	return d, got.Code
}

// sends answers a write, mostly by sending it.
type sends func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// through runs a repair whose writes go through somebody's hands.
func (w *world) through(ctx context.Context, hands sends) (repairs.Report, error) {
	w.T.Helper()
	cfg := rest.CopyConfig(cp.Config)
	cfg.UserAgent = "moult"
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodPatch || req.URL.Query().Has("dryRun") {
				return next.RoundTrip(req)
			}
			return hands(req, func() (*http.Response, error) { return next.RoundTrip(req) })
		})
	})
	cluster, err := inspect.Connect(cfg)
	w.Expect(err).NotTo(HaveOccurred())
	r := &ownersCommand{command: command{Factory: &cli.Factory{ErrOut: &strings.Builder{}}, pace: migration.Options{MaxInFlight: 8, Settle: time.Second}}}
	_, _, _, err = r.find(w.T.Context(), cluster, []string{w.CRD.Name}, nil)
	w.Expect(err).NotTo(HaveOccurred())
	work, err := r.work(cluster)
	w.Expect(err).NotTo(HaveOccurred())
	return r.move(ctx, cfg, cluster, work)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// patches a ConfigMap as another client does.
func (w *world) patches(c *corev1.ConfigMap, manager, format string, args ...any) {
	w.T.Helper()
	_, err := client().CoreV1().ConfigMaps(c.Namespace).Patch(context.Background(), c.Name, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{FieldManager: manager})
	w.Expect(err).NotTo(HaveOccurred())
}
