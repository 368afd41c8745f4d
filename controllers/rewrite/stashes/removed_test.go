package stashes

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Whoever may write annotations must not make Moult create anything else.
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
			NewWithT(t).Expect(Replaced(successor)).To(Equal(c.want))
		})
	}
}
