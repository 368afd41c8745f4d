package conformance

import (
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/controllers/rewrite/fieldownership"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/roundtrip"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// What the clients of a real API server get, who apply at one version and go on at another one, is what is found without one.
func TestARealAPIServerAgreesWhoseFieldsAreWhose(t *testing.T) {
	keep := func(o *unstructured.Unstructured, _, to string) { // in an annotation that nobody owns
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		color, there, _ := unstructured.NestedString(o.Object, "spec", "color")
		spec, _ := o.Object["spec"].(map[string]any)
		if there {
			annotations["example.com/color"] = color
		} else if kept := annotations["example.com/color"]; kept != "" && to == "v1alpha1" && len(spec) > 0 {
			spec["color"] = kept
		}
		o.SetAnnotations(annotations)
	}
	for name, c := range map[string]struct {
		required []string
		spec     map[string]any
		change   webhooks.Change
		want     []string // what ownership says; none for nothing
		null     bool     // the webhook is asked about an object whose spec is null
		stays    bool     // what is not applied any more
	}{
		"nothing is lost":       {spec: map[string]any{"color": "red", "size": int64(3)}, change: func(*unstructured.Unstructured, string, string) {}},
		"a spec without fields": {spec: map[string]any{}, change: func(*unstructured.Unstructured, string, string) {}, null: true},
		"a field comes from an annotation that nobody owns": {spec: map[string]any{"color": "red", "size": int64(3)}, stays: true,
			want:   []string{"spec.color stays although its owner does not apply it any more"},
			change: keep},
		"a field that has to be there cannot be left out": {spec: map[string]any{"color": "red", "size": int64(3)}, change: keep, required: []string{"color"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			hook := webhooks.Converting(t)
			null := atomic.Bool{}
			hook.Change(func(o *unstructured.Unstructured, _, _ string) {
				if spec, there := o.Object["spec"]; there && spec == nil {
					null.Store(true)
				}
			})
			hook.Change(c.change)
			crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1").ConversionWebhook(hook.URL(), hook.CABundle()).Build()
			for i := range crd.Spec.Versions {
				spec := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
				spec.Required = c.required
				spec.Properties["replicas"] = apiextensionsv1.JSONSchemaProps{Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("1")}}
				crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"] = spec
			}
			content := map[string]any{"apiVersion": crd.Spec.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": c.spec}

			e, err := conversion.New(crd)
			g.Expect(err).NotTo(HaveOccurred())
			converter, err := converters.Webhooks{}.For(crd)
			g.Expect(err).NotTo(HaveOccurred())
			types, err := fieldownership.TypeConverterOf(crd)
			g.Expect(err).NotTo(HaveOccurred())
			counts := roundtrip.NewCounts(e, nil)
			roundtrip.NewChecker(e.With(converter), nil).WithTypes(types).Check(t.Context(), []roundtrip.Object{{Name: "a", Content: content}}, counts)
			var said []string
			for _, found := range counts.Report(nil, nil).Findings {
				if found.Kind == roundtrip.Ownership {
					said = append(said, found.What)
				}
			}
			g.Expect(said).To(Equal(c.want))
			g.Expect(null.Swap(false)).To(Equal(c.null))

			w := running.Install(t, cp, crd)
			options := metav1.ApplyOptions{FieldManager: "applier"}
			_, err = w.Objects("v1").Apply(t.Context(), "a", &unstructured.Unstructured{Object: content}, options)
			g.Expect(err).NotTo(HaveOccurred())
			live, err := w.Objects("v1alpha1").Get(t.Context(), "a", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			live.SetLabels(map[string]string{"example.com/other": "a"})
			_, err = w.Objects("v1alpha1").Update(t.Context(), live, metav1.UpdateOptions{FieldManager: "other"})
			g.Expect(err).NotTo(HaveOccurred())
			moved, err := e.With(converter).Converted(t.Context(), content, "v1alpha1")
			g.Expect(err).NotTo(HaveOccurred())
			_, err = w.Objects("v1alpha1").Apply(t.Context(), "a", &unstructured.Unstructured{Object: moved}, options)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(null.Load()).To(Equal(c.null))
			unstructured.RemoveNestedField(moved, "spec", "color")
			now, err := w.Objects("v1alpha1").Apply(t.Context(), "a", &unstructured.Unstructured{Object: moved}, options)
			if c.required != nil {
				g.Expect(err).To(MatchError(ContainSubstring("spec.color: Required value")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			_, stays, _ := unstructured.NestedString(now.Object, "spec", "color")
			g.Expect(stays).To(Equal(c.stays))
		})
	}
}
