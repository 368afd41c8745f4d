package clitest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

// Main is the body of a TestMain whose tests ask a control plane.
func Main(m *testing.M, cp **controlplane.ControlPlane, opts ...controlplane.Option) {
	running.Quiet()
	klog.SetLogger(logr.Discard())
	controlplane.Run(m, cp, opts...)
}

// Suite is the moult and the control plane that the tests of a package share.
type Suite struct {
	Moult        Moult
	ControlPlane **controlplane.ControlPlane // TestMain starts it
}

// World is one test's CRD. Its opt-in label is its own, so that a test sees no CRD of another.
type World struct {
	*WithT
	*running.Witness
	T     *testing.T
	CRD   *apiextensionsv1.CustomResourceDefinition // nil if the test has none
	Label string

	suite Suite
}

// World has a CRD that is opted in, stored at v1alpha1, and is to be stored at v1.
func (s Suite) World(t *testing.T, n int) *World {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := s.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true"))
	w.Create(n)
	w.Flip("v1")
	return w
}

// WorldOf has the CRD that is built.
func (s Suite) WorldOf(t *testing.T, builder *builders.CRDBuilder) *World {
	t.Helper()
	crd := builder.Build()
	seen := running.Install(t, *s.ControlPlane, crd)
	return &World{WithT: NewWithT(t), Witness: seen, T: t, CRD: crd, Label: crd.Spec.Group + "/migrate", suite: s}
}

// Empty has no CRD.
func (s Suite) Empty(t *testing.T) *World {
	t.Helper()
	return &World{WithT: NewWithT(t), T: t, Label: builders.UniqueGroup(t) + "/migrate", suite: s}
}

// Run executes a command line against the control plane.
func (w *World) Run(args ...string) Answer {
	w.T.Helper()
	return w.RunContext(w.T.Context(), args...)
}

// RunContext executes one that may be interrupted.
func (w *World) RunContext(ctx context.Context, args ...string) Answer {
	w.T.Helper()
	where := []string{"--kubeconfig", w.Kubeconfig(), "--label-key", w.Label}
	return w.suite.Moult.RunContext(ctx, nil, slices.Insert(args, 1, where...)...)
}

// Kubeconfig is a file with the admin's.
func (w *World) Kubeconfig() string {
	w.T.Helper()
	content, err := (*w.suite.ControlPlane).KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.T.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path
}

// Says puts a condition on the CRD, as a controller would, speaking of a generation so many before the present one.
func (w *World) Says(status apiextensionsv1.ConditionStatus, reason, sentence string, behind int64) {
	w.T.Helper()
	live := w.Live()
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": append(live.Status.Conditions,
		apiextensionsv1.CustomResourceDefinitionCondition{
			Type: v1alpha1.StorageMigrated, Status: status, Reason: reason,
			Message: v1alpha1.Message(live.Generation-behind, sentence), LastTransitionTime: metav1.Now(),
		})}})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = w.CRDs().Patch(w.T.Context(), w.CRD.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
}

// Merges patches the CRD as a person does.
func (w *World) Merges(manager, body string) {
	w.T.Helper()
	_, err := w.CRDs().Patch(w.T.Context(), w.CRD.Name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	w.Expect(err).NotTo(HaveOccurred())
}

// Namespace makes one that no other test has.
func (w *World) Namespace() string {
	w.T.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "moult-test-"}}
	ns, err := kubernetes.NewForConfigOrDie((*w.suite.ControlPlane).Config).CoreV1().Namespaces().Create(w.T.Context(), ns, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return ns.Name
}
