package migration_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A list that keeps what it does not know keeps what its items do not name, too.
func TestFieldsOfItemsThatOnlyTheOldListKeepsHoldTheMigration(t *testing.T) {
	g := NewWithT(t)
	const list = "type: object\nproperties:\n  spec:\n    type: object\n    properties:\n      parts:\n        type: array\n" +
		"        items: {type: object, properties: {name: {type: string}}}\n"
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		Schema("v1alpha1", list+"        x-kubernetes-preserve-unknown-fields: true\n").Schema("v1", list).Build()
	w := running.Install(t, cp, crd)
	w.Create(1, builders.Each(func(u *unstructured.Unstructured) {
		u.Object["spec"] = map[string]any{"parts": []any{map[string]any{"name": "head", "weight": "heavy"}}}
	}))
	w.Flip("v1")
	running.Migration(t, cp.Config, running.Quick(crd.Spec.Group))

	g.Eventually(w.Reason, running.Soon).Should(BeElementOf(v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonMigrated))
	raw, err := cp.Etcd().Raw(t.Context(), w.GR, "default", "object-00000")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(ContainSubstring("heavy"), "nothing allowed the loss")
	g.Expect(w.Condition().Message).To(ContainSubstring("spec.parts[*].weight"))
}
