package rewrite

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// door is a way to a shelf that counts the writes through it and may be locked.
type door struct {
	*shelf
	writes atomic.Int64
	locked error
}

func (d *door) Patch(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	d.writes.Add(1)
	if d.locked != nil {
		return nil, d.locked
	}
	return d.shelf.Patch(ctx, key, kind, body)
}

func TestTheStatusSubresourceIsTheCheaperWay(t *testing.T) {
	const old = "example.com/v1alpha1"
	rbacSays := status(http.StatusForbidden, metav1.StatusReasonForbidden,
		`widgets.example.com "o00000" is forbidden: User "moult" cannot patch resource "widgets/status" in API group "example.com"`)
	for name, c := range map[string]struct {
		change         func(*Walk)
		entry          metav1.ManagedFieldsEntry
		locked         error
		byStatus, main int64
	}{
		"a plain write goes there":                          {nil, entry("tool", apply, old, ownsSize), nil, 20, 0},
		"and so does a check":                               {checking, entry("tool", apply, old, ownsSize), nil, 40, 0},
		"a repair has no effect on":                         {repairing, entry("tool", apply, old, ownsSize), nil, 0, 20},
		"without the permission, the main resource will do": {nil, entry("tool", apply, old, ownsSize), rbacSays, 1, 20},
		"and if there is none, after all":                   {nil, entry("tool", apply, old, ownsSize), status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource"), 1, 20},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := shelfOf(20, c.entry)
			main, byStatus := &door{shelf: s}, &door{shelf: s, locked: c.locked}
			_, result, err := walkOver(s, func(w *Walk) {
				w.Ownership.Versions = []string{"v1alpha1", "v1"}
				w.Objects, w.Status, w.Workers = main, byStatus, 1
				if c.change != nil {
					c.change(w)
				}
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.stale()).To(BeZero())
			g.Expect(result.By[Failed]).To(BeZero())
			g.Expect([]int64{byStatus.writes.Load(), main.writes.Load()}).To(Equal([]int64{c.byStatus, c.main}), "writes to the status and to the main resource")
		})
	}
}

func TestTheSchemaIsReadOnceAndOnlyForARepair(t *testing.T) {
	const old = "example.com/v1alpha1"
	reads := &atomic.Int64{}
	schema := func(context.Context) (*apiextensionsv1.JSONSchemaProps, error) {
		reads.Add(1)
		return object(props{"spec": *object(props{"size": {Type: "integer"}})}), nil
	}
	g := NewWithT(t)
	_, _, err := walkOver(shelfOf(20), func(w *Walk) { w.Schema = schema })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reads.Load()).To(BeZero(), "nothing to repair")

	s := shelfOf(20, entry("tool", apply, old, ownsBoth))
	_, result, err := walkOver(s, func(w *Walk) { repairing(w); w.Schema = schema })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.By).To(Equal(map[Outcome]int64{Repaired: 20}))
	g.Expect(reads.Load()).To(BeEquivalentTo(1))
	g.Expect(s.objects["o00000"].managed[0].FieldsV1.GetRawString()).To(Equal(ownsSize), "what the schema has not is not owned")

	s = shelfOf(20, entry("tool", apply, old, ownsBoth))
	_, _, err = walkOver(s, func(w *Walk) {
		repairing(w)
		w.Schema = func(context.Context) (*apiextensionsv1.JSONSchemaProps, error) { return nil, errors.New("no answer") }
	})
	stopped := (*Stopped)(nil)
	g.Expect(errors.As(err, &stopped)).To(BeTrue(), "%v", err)
	g.Expect(stopped.Cause).To(Equal(Unavailable))
	g.Expect(s.bodies).To(BeEmpty(), "nothing is moved blindly")
}
