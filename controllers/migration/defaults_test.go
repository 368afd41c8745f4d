package migration_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A field that is unset gets the default of the storage version when an object is stored there, and clients of all versions see it then.
func TestARewriteFillsInTheDefaultsOfTheStorageVersion(t *testing.T) {
	t.Parallel()
	const mode = "type: object\nproperties: {spec: {type: object, properties: {size: {type: integer}, mode: {type: string"
	w := newWorld(t, widgets(t).Schema("v1alpha1", mode+"}}}}\n").Schema("v1", mode+", default: B}}}}\n").Build())
	w.Create(1, builders.Each(func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{"size": int64(1)} }))
	w.Flip("v1")
	spec := func(version string) any {
		object, err := w.Objects(version).Get(w.ctx, "object-00000", metav1.GetOptions{})
		w.Expect(err).NotTo(HaveOccurred())
		return object.Object["spec"]
	}
	unset := map[string]any{"size": int64(1)}
	w.Expect(spec("v1")).To(Equal(unset))
	running.Migration(t, cp.Config, running.Quick(w.GR.Group))
	w.eventuallyMigrated(1)
	w.Expect([]any{spec("v1alpha1"), spec("v1")}).To(HaveEach(Equal(map[string]any{"size": int64(1), "mode": "B"})))
}
