package repair_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// A dependent may be an object of a CRD, and a write stores it at the storage version of that one.
func TestAReferenceInAnObjectThatWouldLoseAFieldIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*builders.CRDBuilder)
		served bool
		why    string
	}{
		"of a CRD that is opted in":        {func(b *builders.CRDBuilder) { b.OptedIn() }, true, "keep it. To let it go: annotation moult.dev/allow-field-loss: \"spec.old\" on gadgets."},
		"of any other CRD":                 {func(*builders.CRDBuilder) {}, true, "v1 does not have spec.old"},
		"at a version that cannot be read": {func(*builders.CRDBuilder) {}, false, "objects may be stored at v1alpha1, which is not served"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			group := "gadgets-" + builders.UniqueGroup(t)
			crd := builders.CRD(group, "gadgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
				Schema("v1alpha1", `{type: object, properties: {spec: {type: object, properties: {old: {type: string}, size: {type: integer}}}}}`).
				Schema("v1", `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}`)
			c.change(crd)
			gadgets := running.Install(t, cp, crd.Build())
			for name, spec := range map[string]map[string]any{"loses": {"old": "precious"}, "keeps": {"size": int64(1)}} {
				w.makes(gadgets, name, spec)
			}
			gadgets.Flip("v1")
			at := func(name string) func() (string, error) {
				return func() (string, error) {
					now, err := gadgets.Objects("v1").Get(t.Context(), name, metav1.GetOptions{})
					return now.GetOwnerReferences()[0].APIVersion, err
				}
			}
			if !c.served {
				gadgets.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
			}
			w.Ask()
			w.runs(cp.Config, time.Second)
			w.Eventually(w.events, soon).Should(ContainElement(And(HavePrefix("Warning OwnerReferencesLeft: "),
				ContainSubstring("would lose fields (see docs/guides/fields-would-be-lost.md)"), ContainSubstring(c.why))))
			w.Expect(at("loses")()).To(Equal(w.GR.Group + "/v1alpha1"))
			if c.served {
				w.Expect(at("keeps")()).To(Equal(w.GR.Group+"/v1"), "it was listed before")
				w.Expect(gadgets.Objects("v1alpha1").Get(t.Context(), "loses", metav1.GetOptions{})).To(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("old", "precious"))))
			}

			gadgets.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
				metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AllowFieldLossAnnotation, "spec.old")
			})
			w.Eventually(at("loses"), soon).Should(Equal(w.GR.Group+"/v1"), "the CRD lets it go")
		})
	}
}

// makes an object of another CRD that the owner owns.
func (w *world) makes(of *running.Witness, name string, spec map[string]any) {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.GR.Group + "/v1alpha1", "kind": "Gadget", "spec": spec}}
	object.SetName(name)
	object.SetOwnerReferences([]metav1.OwnerReference{w.at("v1alpha1", w.owner)})
	_, err := of.Objects("v1alpha1").Create(w.t.Context(), object, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// A webhook takes a field away whenever a client writes the dependent, and the move of its reference is such a write.
func TestAReferenceInAnObjectThatAdmissionTakesAFieldFromIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := "gadgets-" + builders.UniqueGroup(t)
	gadgets := running.Install(t, cp, builders.CRD(group, "gadgets").Versions("v1alpha1").
		Schema("v1alpha1", `{type: object, properties: {spec: {type: object, properties: {old: {type: string}, size: {type: integer}}}}}`).Build())
	w.makes(gadgets, "loses", map[string]any{"old": "precious"})
	w.makes(gadgets, "keeps", map[string]any{"size": int64(1)})
	webhooks.Removing(t, cp.Config, gadgets.GR.WithVersion("v1alpha1"), "loses", "spec", "old")
	at := func(name string) func() (string, error) {
		return func() (string, error) {
			now, err := gadgets.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
			return now.GetOwnerReferences()[0].APIVersion, err
		}
	}
	w.Ask()
	w.runs(cp.Config, time.Second)
	w.Eventually(w.events, soon).Should(ContainElement(And(HavePrefix("Warning OwnerReferencesLeft: "),
		ContainSubstring("spec.old would be lost or changed at the write"))))
	w.Eventually(at("keeps"), soon).Should(Equal(w.GR.Group + "/v1"))
	w.Expect(at("loses")()).To(Equal(w.GR.Group + "/v1alpha1"))
	w.Expect(gadgets.Objects("v1alpha1").Get(t.Context(), "loses", metav1.GetOptions{})).To(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("old", "precious"))))
}
