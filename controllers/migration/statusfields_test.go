package migration_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// noted is a CRD whose status has a note at v1alpha1 and none at v1.
func noted(t *testing.T) *builders.CRDBuilder {
	t.Helper()
	return builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		Schema("v1alpha1", `{type: object, properties: {spec: {type: object}, status: {type: object, properties: {note: {type: string}}}}}`).
		Schema("v1", `{type: object, properties: {spec: {type: object}, status: {type: object}}}`)
}

// note creates an object with a note, and returns whether it is in etcd.
func note(t *testing.T, w *running.Witness) (isThere func() bool) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget",
		"metadata": map[string]any{"name": "rose"}, "status": map[string]any{"note": "keep me"}}}
	made, err := w.Objects("v1alpha1").Create(ctx, object, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	if _, there, _ := unstructured.NestedString(made.Object, "status", "note"); !there {
		made.Object["status"] = object.Object["status"]
		_, err = w.Objects("v1alpha1").UpdateStatus(ctx, made, metav1.UpdateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	return func() bool {
		raw, err := cp.Etcd().Raw(ctx, w.GR, "default", "rose")
		g.Expect(err).NotTo(HaveOccurred())
		return strings.Contains(string(raw), "keep me")
	}
}

func TestAStatusWithoutTheSubresourceIsAFieldLikeAnyOther(t *testing.T) {
	g := NewWithT(t)
	w := running.Install(t, cp, noted(t).Build())
	isThere := note(t, w)
	w.Flip("v1")
	running.Migration(t, cp.Config, running.Quick(w.GR.Group))
	g.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost))
	g.Expect(w.Condition().Message).To(ContainSubstring("status.note (1 object at v1alpha1)"))
	g.Expect(isThere()).To(BeTrue())

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AllowFieldLossAnnotation, "status.note")
	})
	g.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
}

func TestFieldsOfStatusAreReportedAndHoldNothing(t *testing.T) {
	g := NewWithT(t)
	w := running.Install(t, cp, noted(t).WithStatus().Build())
	isThere := note(t, w)
	g.Expect(isThere()).To(BeTrue())
	w.Flip("v1")
	running.Migration(t, cp.Config, running.Quick(w.GR.Group))
	g.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
	g.Expect(isThere()).To(BeFalse())
	g.Eventually(warnings(t, w, v1alpha1.EventFieldsDropped), running.Soon).Should(
		ContainElement("status.note of v1alpha1 is dropped from 1 objects, for example default/rose, since v1 does not have it"))
}
