package rewrite

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Only a list that comes later shows whether an object that is not found by its name was deleted.
func TestAnObjectThatIsNotFoundAndListedAgainIsNotGone(t *testing.T) {
	for name, c := range map[string]struct {
		mode    Mode
		deleted bool
		want    map[Outcome]int64
		failure string
	}{
		"it was deleted":             {mode: Check, deleted: true, want: map[Outcome]int64{Current: 4, Gone: 1}},
		"it is listed again":         {mode: Check, want: map[Outcome]int64{Current: 4, Gone: 0, Failed: 1}, failure: "ns/o00003: Misplaced: its key in etcd is not that of its name. Look below /registry/example.com/ for mod_revision 4. "},
		"the first walk is no proof": {mode: Rewrite, want: map[Outcome]int64{Current: 4, Gone: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(5)
			for _, o := range s.objects {
				o.stale = false
			}
			s.fail = func(name string, _ int) error {
				if name == "o00003" {
					return notFound(name)
				}
				return nil
			}
			s.unreadable = func(name string) error { // it is read while the shelf is locked
				if c.deleted {
					delete(s.objects, name)
				}
				return notFound(name)
			}
			_, result, err := walkOver(s, func(w *Walk) { w.Mode, w.PageSize = c.mode, 2 })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(c.want))
			g.Expect(result.Done()).To(BeEquivalentTo(5))
			if c.failure != "" {
				g.Expect(result.FailedObjects[0].String()).To(HavePrefix(c.failure))
			}
		})
	}
}

// twins lists one object more than there is, under a later key.
type twins struct{ *shelf }

func (t twins) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	list, err := t.shelf.List(ctx, opts)
	if err == nil && list.Continue == "" {
		list.Items = append(list.Items, *t.metadata("o00001"))
	}
	return list, err
}

// Both may have one resourceVersion, where a tool has put them into etcd in one transaction. Then each request seems to be about either.
func TestTwoObjectsWithOneNameAreNotProved(t *testing.T) {
	for _, mode := range []Mode{Rewrite, Check, Survey} {
		g := NewWithT(t)
		s := newShelf(5)
		for _, o := range s.objects {
			o.stale = false
		}
		_, result, err := walkOver(s, func(w *Walk) { w.Objects, w.Mode, w.PageSize = twins{s}, mode, 2 })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.By).To(Equal(map[Outcome]int64{Current: 5, Failed: 1}))
		g.Expect(result.FailedObjects[0].String()).To(HavePrefix("ns/o00001: Misplaced: it is listed behind ns/o00004, so the key in etcd of one of the two is not that of its name. " +
			"Look below /registry/example.com/ for mod_revision 5 and 2. "))
	}
}

// orphan lists one more object, which is from when the CRD had another scope, or has no name.
type orphan struct {
	*shelf

	key types.NamespacedName
}

func (o orphan) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	list, err := o.shelf.List(ctx, opts)
	if err == nil && opts.Continue == "" {
		item := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.key.Namespace, Name: o.key.Name, ResourceVersion: "3"}}
		list.Items = slices.Insert(list.Items, 1, item)
	}
	return list, err
}

func TestAnObjectThatNoRequestReachesStopsNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		key   types.NamespacedName
		scope apiextensionsv1.ResourceScope
		want  string
	}{
		"without a namespace": {types.NamespacedName{Name: "zoo"}, apiextensionsv1.NamespaceScoped, "zoo: Misplaced: it has no namespace, "},
		"without a name":      {types.NamespacedName{}, "", "an object that `moult doctor` finds: Misplaced: it has no name. Look below /registry/example.com/ for mod_revision 3"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newShelf(5)
			s.fail = func(name string, _ int) error {
				if name == c.key.Name {
					return status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
				}
				return nil
			}
			_, result, err := walkOver(s, func(w *Walk) { w.Objects, w.Scope = orphan{s, c.key}, c.scope })
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.By).To(Equal(map[Outcome]int64{Rewritten: 5, Failed: 1}))
			g.Expect(strings.TrimPrefix(result.FailedObjects[0].String(), "/")).To(HavePrefix(c.want))
		})
	}
}

func TestAnObjectInANamespaceOfAClusterScopedCRDIsNotReached(t *testing.T) {
	g := NewWithT(t)
	_, result, err := walkOver(newShelf(1), func(w *Walk) { w.Scope = apiextensionsv1.ClusterScoped })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.FailedObjects[0].String()).To(HavePrefix("ns/o00000: Misplaced: it has a namespace, "))
}
