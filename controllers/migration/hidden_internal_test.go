package migration

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/builders"
)

func TestWhichObjectsAWebhookMayHaveToConvertFromAHiddenVersion(t *testing.T) {
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1").Build()
	for name, c := range map[string]struct {
		at   []string
		want []string
	}{
		"without managedFields":            {nil, []string{""}},
		"written at the hidden version":    {[]string{"v1", "v1alpha1"}, []string{""}},
		"at a version that has left":       {[]string{"v1alpha0"}, []string{""}},
		"only at versions that are served": {[]string{"v1beta1", "v1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &unstructured.Unstructured{Object: map[string]any{}}
			entries := []metav1.ManagedFieldsEntry{}
			for _, version := range c.at {
				entries = append(entries, metav1.ManagedFieldsEntry{Manager: "a", APIVersion: "example.com/" + version})
			}
			object.SetManagedFields(entries)
			g.Expect(written{crd, "v1alpha1"}.Lost(t.Context(), []map[string]any{object.Object})).To(Equal([][]string{c.want}))
		})
	}
}
