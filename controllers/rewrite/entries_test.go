package rewrite

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The API server reads 3 MiB of a patch, and etcd keeps 1.5 MiB of an object.
func TestAPatchIsNoLongerThanWhatItIsAbout(t *testing.T) {
	g := NewWithT(t)
	fields := `{"f:` + strings.Repeat("<&>", 300<<10) + `":{}}`
	item := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", fields)}}}
	moved := []metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1", fields)}
	w, err := replaceTheseEntries(item, moved)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(w.body)).To(BeNumerically("<", 3<<20))
}
