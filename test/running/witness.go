package running

import (
	"bytes"
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

// Witness sees one CRD and its objects from outside, and changes the CRD as its owners do. What it reads it reads anew;
// an answer that it does not get it asks for again, and ends the test if none comes.
type Witness struct {
	// GR is the CRD's resource; the CRD is called GR.String().
	GR schema.GroupResource

	t  testing.TB
	g  Gomega
	cp *controlplane.ControlPlane
}

// Install installs a CRD, which goes away when the test ends, with all objects.
func Install(t testing.TB, cp *controlplane.ControlPlane, crd *apiextensionsv1.CustomResourceDefinition) *Witness {
	t.Helper()
	w := WitnessOf(t, cp, schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural})
	t.Cleanup(w.uninstall)
	w.g.Expect(builders.Install(t.Context(), cp.Config, crd)).To(Succeed())
	return w
}

// uninstall deletes the objects in etcd first. The API server cannot delete what it cannot convert, since the test's
// webhook has ended: the CRD would stay, and the server would list its objects again and again.
func (w *Witness) uninstall() {
	ctx := context.Background()
	w.g.Expect(w.cp.Etcd().Purge(ctx, w.GR)).To(Succeed())
	_ = w.CRDs().Delete(ctx, w.GR.String(), metav1.DeleteOptions{}) // a policy may keep it; controlplane.Run finds what is left
}

// InstallFlipped installs a CRD, creates n objects at v1alpha1, its storage version, and makes v1 the storage version:
// what there is when Moult's work begins.
func InstallFlipped(t testing.TB, cp *controlplane.ControlPlane, crd *apiextensionsv1.CustomResourceDefinition, n int, opts ...builders.ObjectOption) *Witness {
	t.Helper()
	w := Install(t, cp, crd)
	w.Create(n, opts...)
	w.Flip("v1")
	if n > 0 {
		w.g.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": n}), "the objects must be stale before the test begins")
	}
	return w
}

// WitnessOf sees a CRD that is there already, or will be.
func WitnessOf(t testing.TB, cp *controlplane.ControlPlane, gr schema.GroupResource) *Witness {
	t.Helper()
	return &Witness{GR: gr, t: t, g: NewWithT(t), cp: cp}
}

// Create creates n objects at v1alpha1 in the namespace default.
func (w *Witness) Create(n int, opts ...builders.ObjectOption) {
	w.t.Helper()
	w.g.Expect(builders.CreateObjects(w.t.Context(), w.cp.Config, w.GR.WithVersion("v1alpha1"), "default", n, opts...)).To(Succeed())
}

// Flip makes version the storage version.
func (w *Witness) Flip(version string) {
	w.t.Helper()
	w.g.Expect(builders.FlipStorage(w.t.Context(), w.cp.Config, w.GR.String(), version)).To(Succeed())
}

// Update changes the CRD.
func (w *Witness) Update(change func(*apiextensionsv1.CustomResourceDefinition)) {
	w.t.Helper()
	w.g.Expect(builders.Update(w.t.Context(), w.cp.Config, w.GR.String(), change)).To(Succeed())
}

// KeepAll sets spec.preserveUnknownFields in etcd, as CRDs still have it that were made by apiextensions.k8s.io/v1beta1. The API server
// keeps it, and accepts it from no client any more.
func (w *Witness) KeepAll() {
	w.t.Helper()
	crds := schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
	raw, err := w.cp.Etcd().Raw(w.t.Context(), crds, "", w.GR.String())
	w.g.Expect(err).NotTo(HaveOccurred())
	kept := bytes.Replace(raw, []byte(`"preserveUnknownFields":false`), []byte(`"preserveUnknownFields":true`), 1)
	w.g.Expect(w.cp.Etcd().Put(w.t.Context(), crds, "", w.GR.String(), kept)).To(Succeed())
	w.g.Eventually(func() (map[string]any, error) { // the API server learns of it by watching
		probe := &unstructured.Unstructured{Object: map[string]any{"unknown": "field"}}
		probe.SetGroupVersionKind(w.GR.WithVersion("v1alpha1").GroupVersion().WithKind(w.Live().Spec.Names.Kind))
		probe.SetName("probe")
		kept, err := w.Objects("v1alpha1").Create(w.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		return kept.Object, nil
	}, Soon).Should(HaveKey("unknown"))
}

// Live is the CRD as it is now.
func (w *Witness) Live() *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	return answer(w, func(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
		return w.CRDs().Get(ctx, w.GR.String(), metav1.GetOptions{})
	})
}

// StoredVersions is what the CRD's status says is stored.
func (w *Witness) StoredVersions() []string {
	w.t.Helper()
	return w.Live().Status.StoredVersions
}

// Condition is the condition StorageMigrated, empty if there is none.
func (w *Witness) Condition() apiextensionsv1.CustomResourceDefinitionCondition {
	w.t.Helper()
	for _, c := range w.Live().Status.Conditions {
		if c.Type == v1alpha1.StorageMigrated {
			return c
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}

// Reason is the reason of the condition, empty if there is none.
func (w *Witness) Reason() string {
	w.t.Helper()
	return w.Condition().Reason
}

// Stored counts the objects in etcd by the version they are stored at.
func (w *Witness) Stored() map[string]int {
	w.t.Helper()
	return answer(w, func(ctx context.Context) (map[string]int, error) { return w.cp.Etcd().CountByVersion(ctx, w.GR) })
}

// Writes is how often the objects that there are have been written in etcd since their creation.
func (w *Witness) Writes() int64 {
	w.t.Helper()
	return answer(w, func(ctx context.Context) (int64, error) { return w.cp.Etcd().Writes(ctx, w.GR) })
}

// CRDs is a client of CRDs that may do all.
func (w *Witness) CRDs() apiextensions.CustomResourceDefinitionInterface {
	return apiextensions.NewForConfigOrDie(w.cp.Config).CustomResourceDefinitions()
}

// Objects is a client of the objects in the namespace default, at a version, that may do all.
func (w *Witness) Objects(version string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(w.cp.Config).Resource(w.GR.WithVersion(version)).Namespace("default")
}

// answer asks until there is an answer: a busy server that fails to give one says nothing about Moult.
func answer[T any](w *Witness, ask func(context.Context) (T, error)) (found T) {
	w.t.Helper()
	w.g.Eventually(func() (err error) {
		found, err = ask(w.t.Context())
		return err
	}, Soon).Should(Succeed())
	return found
}
