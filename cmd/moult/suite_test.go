package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	controlplane.Run(m, &cp)
}

// world is one test's CRD. Its opt-in label is its own, so that a test sees no CRD of another.
type world struct {
	*WithT
	*running.Witness
	t     *testing.T
	ctx   context.Context
	crd   *apiextensionsv1.CustomResourceDefinition
	gr    schema.GroupResource
	label string
}

// answer is what a command line brought.
type answer struct {
	code        int
	out, errOut string
}

// newWorld has a CRD that is opted in, stored at v1alpha1, and is to be stored at v1.
func newWorld(t *testing.T, n int) *world {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := newWorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true"))
	w.Create(n)
	w.Flip("v1")
	return w
}

func newWorldOf(t *testing.T, builder *builders.CRDBuilder) *world {
	t.Helper()
	crd := builder.Build()
	seen := running.Install(t, cp, crd)
	return &world{
		WithT: NewWithT(t), Witness: seen, t: t, ctx: t.Context(), crd: crd, gr: seen.GR, label: crd.Spec.Group + "/migrate",
	}
}

// moult runs a command line against the control plane.
func (w *world) moult(args ...string) answer { return w.moultUntil(w.ctx, args...) }

func (w *world) moultUntil(ctx context.Context, args ...string) answer {
	w.t.Helper()
	var out, errOut bytes.Buffer
	where := []string{"--kubeconfig", w.kubeconfig(), "--label-key", w.label}
	code := run(ctx, "moult", slices.Insert(args, 1, where...), &out, &errOut)
	return answer{code, out.String(), errOut.String()}
}

func (w *world) kubeconfig() string {
	w.t.Helper()
	content, err := cp.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path
}

// says puts a condition on the CRD, as a controller would, speaking of a generation so many before the present one.
func (w *world) says(status apiextensionsv1.ConditionStatus, reason, sentence string, behind int64) {
	w.t.Helper()
	live := w.live()
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": append(live.Status.Conditions,
		apiextensionsv1.CustomResourceDefinitionCondition{
			Type: v1alpha1.StorageMigrated, Status: status, Reason: reason,
			Message: v1alpha1.Message(live.Generation-behind, sentence), LastTransitionTime: metav1.Now(),
		})}})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = w.crds().Patch(w.ctx, w.crd.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
}

func (w *world) crds() apiextensions.CustomResourceDefinitionInterface { return w.CRDs() }

func (w *world) live() *apiextensionsv1.CustomResourceDefinition { return w.Live() }
