package embeddedcopies

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/unpacking"
)

// A client that may write annotations must not make Moult create anything else.
func TestOnlyObjectsOfTheSuccessorsOwnKindAndNamespaceAreTakenFromIt(t *testing.T) {
	in := func(namespace, kind, name string) *unstructured.Unstructured {
		u := object(name)
		u.SetNamespace(namespace)
		u.SetKind(kind)
		return u
	}
	packed := func(u *unstructured.Unstructured) string {
		value, err := pack(u)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return value
	}
	old := in("garden", "ControllerRevision", "rose-old")
	for name, c := range map[string]struct {
		key, value string
		want       []*unstructured.Unstructured
	}{
		"what it has replaced": {annotationOf("rose-old"), packed(old), []*unstructured.Unstructured{old}},
		"another namespace":    {annotationOf("rose-old"), packed(in("other", "ControllerRevision", "rose-old")), nil},
		"another kind":         {annotationOf("rose-old"), packed(in("garden", "Secret", "rose-old")), nil},
		"another name":         {annotationOf("tulip"), packed(old), nil},
		"another annotation":   {"example.com/kept", packed(old), nil},
		"no base64":            {annotationOf("rose-old"), "?", nil},
		"no gzip":              {annotationOf("rose-old"), "cm9zZQ==", nil},
		"a longer name":        {v1alpha1.ReplacedAnnotationPrefix + "rose-old", packed(old), nil},
	} {
		t.Run(name, func(t *testing.T) {
			successor := in("garden", "ControllerRevision", "rose-new")
			successor.SetAnnotations(map[string]string{c.key: c.value})
			var all []*unstructured.Unstructured
			for u := range Replaced(successor, unpacking.One()) {
				all = append(all, u)
			}
			NewWithT(t).Expect(all).To(Equal(c.want))
		})
	}
}

// Annotations of 255 KB can hold hundreds of MB, in three objects of one tenant. What is known of them is where they are.
func TestWhatAnnotationsHoldIsNotHeld(t *testing.T) {
	g := NewWithT(t)
	at, look, known := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}, unpacking.NewLook(), newRemoved(nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	annotations := map[string]string{}
	for n := range 24 {
		name := fmt.Sprintf("old-%d", n)
		large := object(name)
		large.Object["data"] = map[string]any{"x": strings.Repeat("0", 4<<20-300)}
		packed, err := pack(large)
		g.Expect(err).NotTo(HaveOccurred())
		annotations[annotationOf(name)] = packed
	}
	for i := range 3 {
		holder := object(fmt.Sprintf("rose-%d", i))
		holder.SetAnnotations(annotations)
		g.Expect(known.learn(at, holder, look.Object(unpacking.SizeOf(holder.Object)))).To(MatchError(ContainSubstring("larger than what is looked at")), "nor is all of it unpacked")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	g.Expect(int64(after.HeapAlloc) - int64(before.HeapAlloc)).To(BeNumerically("<", 16<<20))
	g.Expect(known.known).NotTo(BeEmpty())
	for _, where := range known.known {
		g.Expect(where.in.Name).To(HavePrefix("rose-"))
	}

	small, err := pack(object("old"))
	g.Expect(err).NotTo(HaveOccurred())
	holder := object("rose")
	holder.SetAnnotations(map[string]string{annotationOf("old"): small})
	g.Expect(known.learn(at, holder, look.Object(unpacking.SizeOf(holder.Object)))).To(Succeed())
	where, there := known.get(keyOf(object("old")))
	g.Expect(there).To(BeTrue())
	g.Expect(where).To(Equal(kept{at: at, in: types.NamespacedName{Namespace: holder.GetNamespace(), Name: "rose"}}))
}
