package rehearse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// hooked is a cluster with objects that are stored at v1alpha1, the CRD that stores them at v1, and their webhook.
type hooked struct {
	*WithT
	*running.Witness
	t    *testing.T
	hook *webhooks.Conversion
	head *apiextensionsv1.CustomResourceDefinition
	file string
}

// newHooked changes the new CRD, and makes n objects: o000 and so on.
func newHooked(t *testing.T, n int, change func(*apiextensionsv1.CustomResourceDefinition), spec func(i int) map[string]any) *hooked {
	t.Helper()
	g := NewWithT(t)
	hook, err := webhooks.NewConversion()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").WithStatus().
		ConversionWebhook(hook.URL(), hook.CABundle()).Build()
	h := &hooked{WithT: g, t: t, hook: hook, Witness: running.Install(t, cp, crd), head: crd.DeepCopy()}
	t.Cleanup(func() { g.Expect(hook.Heal()).To(Succeed()) }) // what is deleted is read
	for i := range n {
		object, err := h.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": crd.Spec.Group + "/v1alpha1", "kind": "Widget", "spec": spec(i),
			"metadata": map[string]any{"name": fmt.Sprintf("o%03d", i), "labels": map[string]any{"a": "b"}},
		}}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		if i < 3 {
			object.Object["status"] = map[string]any{"phase": "Ready"}
			_, err = h.Objects("v1alpha1").UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	h.head.Spec.Versions[0].Storage, h.head.Spec.Versions[1].Storage = false, true
	h.head.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	change(h.head)
	raw, err := yaml.Marshal(h.head)
	g.Expect(err).NotTo(HaveOccurred())
	h.file = filepath.Join(t.TempDir(), "crd.yaml")
	g.Expect(os.WriteFile(h.file, raw, 0o600)).To(Succeed())
	return h
}

// rehearse is what the command says of the objects of the cluster.
func (h *hooked) rehearse(code int, args ...string) conversion.CRDReport {
	h.t.Helper()
	got := suite.Empty(h.t).Run(append([]string{"rehearse", "--crds", h.file, "-o", "json"}, args...)...)
	h.Expect(got.Code).To(Equal(code), got.Out+got.ErrOut)
	report := conversion.Report{}
	h.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	h.Expect(report.CRDs).To(HaveLen(1))
	return report.CRDs[0]
}

// flip stores at v1 what is written from now on.
func (h *hooked) flip() {
	h.t.Helper()
	h.Update(func(live *apiextensionsv1.CustomResourceDefinition) { live.Spec = h.head.Spec })
}

// rewrite writes all objects until they are stored at v1, but for some that cannot be.
func (h *hooked) rewrite(names []string, failing int) {
	h.t.Helper()
	h.Eventually(func() map[string]int {
		for _, name := range names {
			_, _ = h.Objects("v1").Patch(h.t.Context(), name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}) // what is stored shows
		}
		return h.Stored()
	}, "30s").Should(Or(Equal(map[string]int{"v1": len(names) - failing, "v1alpha1": failing}), Equal(map[string]int{"v1": len(names) - failing})))
}

// countsOf are the objects by what is said of them; nil for nothing.
func countsOf(groups []conversion.Group) map[string]int64 {
	if len(groups) == 0 {
		return nil
	}
	all := map[string]int64{}
	for _, group := range groups {
		all[cmp.Or(string(group.Fault), group.What)] += group.Objects
	}
	return all
}

// remove has conversions to v1 drop a field.
func remove(path ...string) webhooks.Change {
	return func(object *unstructured.Unstructured, _, to string) {
		if to == "v1" {
			unstructured.RemoveNestedField(object.Object, path...)
		}
	}
}

// swap has v1 call two fields otherwise.
func swap(object *unstructured.Unstructured, _, _ string) {
	if spec, ok := object.Object["spec"].(map[string]any); ok {
		spec["color"], spec["payload"] = spec["payload"], spec["color"]
	}
}

// stash keeps what v1 does not know in an annotation, as Cluster API does.
func stash(object *unstructured.Unstructured, _, to string) {
	const key = "example.com/conversion-data"
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if to == "v1" {
		annotations[key], _, _ = unstructured.NestedString(object.Object, "spec", "payload")
		unstructured.RemoveNestedField(object.Object, "spec", "payload")
	} else if payload, there := annotations[key]; there {
		_ = unstructured.SetNestedField(object.Object, payload, "spec", "payload")
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	object.SetAnnotations(annotations)
}
