package inspect

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/test/running"
)

// A snapshot that counts fields reports how many objects have one that the next storage version lacks.
func TestFieldsAreCountedAtEachVersionThatHasMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const old = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string, default: green}, old: {type: string}}}}}"
	crd := w.widgets().Versions("v1alpha1", "v1beta1", "v1").Storage("v1alpha1").Schema("v1alpha1", old).
		Schema("v1beta1", "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}").
		Schema("v1", "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, shade: {type: string}}}}}")
	witness := running.Install(t, cp, crd.Build())
	for name, spec := range map[string]map[string]any{"one": {"size": int64(1)}, "two": {"color": "red"}, "three": {"old": "x", "color": "green"}} {
		_, err := witness.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
		}}, metav1.CreateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	taken := w.take(cp.Config)
	w.Expect(taken.CRDs[0].Fields).To(BeEmpty(), "unless it is asked for")

	taken = w.take(cp.Config, func(o *Options) { o.Fields = true })
	w.Expect(taken.NotRead).To(BeEmpty())
	at := map[string][]crdschema.Used{}
	for _, f := range taken.CRDs[0].Fields {
		at[f.Version] = f.Used
	}
	w.Expect(at).To(HaveLen(2), "v1beta1 has no more than v1alpha1")
	w.Expect(at["v1alpha1"]).To(ConsistOf(
		crdschema.Used{Field: "spec", Objects: 3, Examples: []string{"default/one", "default/three", "default/two"}},
		crdschema.Used{Field: "spec.size", Objects: 1, Examples: []string{"default/one"}},
		crdschema.Used{Field: "spec.color", Objects: 1, Examples: []string{"default/two"}},
		crdschema.Used{Field: "spec.old", Objects: 1, Examples: []string{"default/three"}},
	))
	objects, named, known := taken.Uses(w.GR.String(), "v1beta1", "spec.size")
	w.Expect(known).To(BeTrue())
	w.Expect(objects).To(BeEquivalentTo(1))
	w.Expect(named).To(Equal([]string{"default/one"}))
}

// A list that somebody has trimmed does not say that no object is stored at a version that cannot be read.
func TestFieldsAtAHiddenVersionAreCountedAsFarAsManagedFieldsShow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    string // version at which an object was written
		known bool
	}{
		"an object was written there": {"v1alpha1", false},
		"no object was":               {"v1", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			crd := w.widgets().
				Schema("v1alpha1", "{type: object, properties: {spec: {type: object, properties: {size: {type: string}, old: {type: string}}}}}").
				Schema("v1", "{type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}")
			witness := running.Install(t, cp, crd.Build())
			_, err := witness.Objects(c.at).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": w.GR.Group + "/" + c.at, "kind": "Widget", "metadata": map[string]any{"name": "rose"}, "spec": map[string]any{"size": "x"},
			}}, metav1.CreateOptions{})
			w.Expect(err).NotTo(HaveOccurred())
			witness.Flip("v1")
			witness.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
			trimmed := witness.Live()
			trimmed.Status.StoredVersions = []string{"v1"}
			_, err = witness.CRDs().UpdateStatus(t.Context(), trimmed, metav1.UpdateOptions{FieldManager: "somebody"})
			w.Expect(err).NotTo(HaveOccurred())

			taken := w.take(cp.Config, func(o *Options) { o.Fields = true })
			if c.known {
				w.Expect(taken.NotRead).To(BeEmpty())
				return
			}
			w.Expect(taken.CRDs[0].Fields).To(BeEmpty())
			w.Expect(taken.NotRead).To(ContainElement(HaveField("Why", ContainSubstring("1 of them may be stored at v1alpha1, which is not served, with spec.old"))))
		})
	}
}
