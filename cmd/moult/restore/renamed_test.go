package restore

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/test/builders"
)

// The CRD has another version than the backup. Who owns which field is kept if the fields are called the same.
func TestOwnersOfFieldsOutliveTheirVersion(t *testing.T) {
	const (
		atomic = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}, parts: {type: array, items: {type: object, properties: {name: {type: string}}}}}}}}`
		keyed  = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}, parts: {type: array,
			x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}}}}}}`
	)
	for name, c := range map[string]struct {
		schema string // of v1
		owned  bool
	}{"the same schema": {atomic, true}, "a list has keys": {keyed, false}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1").Schema("v1alpha1", atomic))
			w.apply("v1alpha1", "rose", map[string]any{"size": int64(1), "color": "red"})
			w.backup()
			w.remove()
			w.installs(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1").Schema("v1", c.schema))
			of, code := w.restore()
			w.Expect(code).To(BeZero(), "%+v", of)
			w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 1}))
			w.apply("v1", "rose", map[string]any{"size": int64(1)})
			if c.owned {
				w.Expect(of.Managers).To(BeZero())
				w.Expect(w.specs()["rose"]).To(Equal(map[string]any{"size": int64(1)}), "the tool prunes what it owned at v1alpha1")
			} else {
				w.Expect(of.Managers).To(BeEquivalentTo(1))
			}
		})
	}
}
