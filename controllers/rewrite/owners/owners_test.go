package owners

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhichReferencesAreMoved(t *testing.T) {
	asked := Target{Group: "example.com", Kind: "Widget", Storage: "v1", Leaving: []string{"v1alpha1", "v0"}, Served: []string{"v1alpha1", "v1beta1", "v1"}}
	all := asked
	all.Unserved = true
	for name, c := range map[string]struct {
		apiVersion, kind  string
		asked, orUnserved bool
	}{
		"a version that leaves":                {"example.com/v1alpha1", "Widget", true, true},
		"one that has left, and was asked for": {"example.com/v0", "Widget", true, true},
		"one that has left, or is not served":  {"example.com/v1alpha0", "Widget", false, true},
		"one that stays":                       {"example.com/v1beta1", "Widget", false, false},
		"the storage version":                  {"example.com/v1", "Widget", false, false},
		"a kind in lower case":                 {"example.com/v1alpha1", "widget", true, true},
		"another kind of the group":            {"example.com/v1alpha1", "Gadget", false, false},
		"a list":                               {"example.com/v1alpha1", "WidgetList", false, false},
		"another group":                        {"example.org/v1alpha1", "Widget", false, false},
		"the core group":                       {"v1alpha1", "Widget", false, false},
		"no version":                           {"a/b/c", "Widget", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ref := &metav1.OwnerReference{APIVersion: c.apiVersion, Kind: c.kind}
			g.Expect(asked.moves(ref)).To(Equal(c.asked))
			g.Expect(all.moves(ref)).To(Equal(c.orUnserved))
		})
	}
}

func TestAPatchTestsWhatItWasMadeFrom(t *testing.T) {
	g := NewWithT(t)
	item := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "object", ResourceVersion: "7", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "a", UID: "a"}, {APIVersion: "example.com/v1alpha1", Kind: "Widget", Name: "rose", UID: "owner"},
	}}}
	body, err := move(item, matches([]Target{{Group: "example.com", Kind: "Widget", Storage: "v1", Leaving: []string{"v1alpha1"}}}, item))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(body).To(MatchJSON(`[
  {"op": "test", "path": "/metadata/uid", "value": "object"},
  {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
  {"op": "test", "path": "/metadata/ownerReferences/1/apiVersion", "value": "example.com/v1alpha1"},
  {"op": "test", "path": "/metadata/ownerReferences/1/kind", "value": "Widget"},
  {"op": "test", "path": "/metadata/ownerReferences/1/name", "value": "rose"},
  {"op": "test", "path": "/metadata/ownerReferences/1/uid", "value": "owner"},
  {"op": "replace", "path": "/metadata/ownerReferences/1/apiVersion", "value": "example.com/v1"}
]`))
}

func managed(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestOwnershipGoesBackToThoseWhoHadIt(t *testing.T) {
	const (
		refA   = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"a\"}":{}}}}`
		refAB  = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"a\"}":{},"k:{\"uid\":\"b\"}":{}}}}`
		inside = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"a\"}":{".":{},"f:apiVersion":{},"f:uid":{}}}}}`
		list   = `{"f:metadata":{"f:ownerReferences":{".":{}}}}`
		listA  = `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"a\"}":{}}}}`
		data   = `{"f:data":{}}`
	)
	type entries = []metav1.ManagedFieldsEntry
	for name, c := range map[string]struct {
		before, after, now entries
		moved              []types.UID
		want               entries
	}{
		"to one that lost its only field": {before: entries{managed("op", refA)}, after: entries{managed("moult", refA)}, want: entries{managed("op", refA)}},
		"to one that has others":          {before: entries{managed("op", listA)}, after: entries{managed("op", list), managed("moult", refA)}, want: entries{managed("op", listA)}},
		"to two": {before: entries{managed("one", refA), managed("two", refA)}, after: entries{managed("moult", refA)},
			want: entries{managed("one", refA), managed("two", refA)}},
		"two references of two":          {before: entries{managed("op", refAB)}, after: entries{managed("moult", refAB)}, moved: []types.UID{"a", "b"}, want: entries{managed("op", refAB)}},
		"as older servers wrote it":      {before: entries{managed("op", inside)}, after: entries{managed("moult", refA)}, want: entries{managed("op", refA)}},
		"and others keep theirs":         {before: entries{managed("op", refA), managed("x", data)}, after: entries{managed("x", data), managed("moult", refA)}, want: entries{managed("x", data), managed("op", refA)}},
		"but for what nobody owned":      {before: entries{managed("x", data)}, after: entries{managed("x", data), managed("moult", refA)}},
		"but for our own":                {before: entries{managed("moult", refA)}, after: entries{managed("moult", refA)}},
		"but for what was written since": {before: entries{managed("op", refA)}, after: entries{managed("moult", refA)}, now: entries{managed("else", refA)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if c.moved == nil {
				c.moved = []types.UID{"a"}
			}
			if c.now == nil {
				c.now = c.after
			}
			decoded := func(entries entries) []owned {
				all, err := decode(entries)
				g.Expect(err).NotTo(HaveOccurred())
				return all
			}
			before := decoded(c.before)
			got, err := restored(before, decoded(c.now), takers(before, decoded(c.after), c.moved), c.moved)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(ConsistOf(asAny(c.want)...))
		})
	}
}

func asAny(entries []metav1.ManagedFieldsEntry) (all []any) {
	for _, e := range entries {
		all = append(all, e)
	}
	return all
}
