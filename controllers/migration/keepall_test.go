package migration_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// With spec.preserveUnknownFields the API server prunes nothing, so no write of Moult's drops what no schema names.
func TestACRDThatKeepsAllLosesNothing(t *testing.T) {
	t.Parallel()
	w := keepingAll(t, "", "", map[string]any{"size": int64(1), "weight": "heavy"})
	running.Migration(t, cp.Config, running.Quick(w.GR.Group))

	w.eventuallyMigrated(1)
	w.Expect(w.raw("object-00000")).To(ContainSubstring("heavy"))
}

// The metadata of an embedded resource is cut to what metadata may have, whatever the CRD keeps.
func TestMetadataOfAnEmbeddedResourceHoldsTheMigrationOfACRDThatKeepsAll(t *testing.T) {
	t.Parallel()
	w := keepingAll(t, "", ", x-kubernetes-embedded-resource: true", map[string]any{"template": map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x", "weight": "heavy"},
	}})
	running.Migration(t, cp.Config, running.Quick(w.GR.Group))

	w.Eventually(w.Reason, soon).Should(BeElementOf(v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonMigrated))
	w.Expect(w.raw("object-00000")).To(ContainSubstring("heavy"), "nothing allowed the loss")
	w.Expect(w.Condition().Message).To(ContainSubstring("spec.template.metadata.weight (1 object at v1alpha1)"))
}

// keepingAll has one object, stored at v1alpha1, of a CRD with spec.preserveUnknownFields whose storage version is v1.
func keepingAll(t *testing.T, old, storage string, spec map[string]any) *world {
	t.Helper()
	const template = "type: object\nproperties: {spec: {type: object, properties: {size: {type: integer}, template: {type: object, x-kubernetes-preserve-unknown-fields: true"
	w := newWorld(t, widgets(t).Schema("v1alpha1", template+old+"}}}}\n").Schema("v1", template+storage+"}}}}\n").Build())
	w.KeepAll()
	w.Create(1, builders.Each(func(u *unstructured.Unstructured) { u.Object["spec"] = spec }))
	w.Flip("v1")
	w.Expect(w.raw("object-00000")).To(ContainSubstring("heavy"))
	return w
}
