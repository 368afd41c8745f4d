package migration_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/running"
)

// The schemas of a large CRD take a hundred megabytes while a walk judges objects by them. Small ones need not wait.
func TestALargeCRDWaitsForTheSchemasOfOthers(t *testing.T) {
	t.Parallel()
	crd := widgets(t).Build()
	for _, version := range crd.Spec.Versions {
		version.Schema.OpenAPIV3Schema.Description = strings.Repeat("x", 100<<10)
	}
	large := worldOf(t, crd, running.InstallFlipped(t, cp, crd, 3))
	small := flippedWorld(t, widgets(t), 3)
	opts := large.quick()
	opts.Groups = append(opts.Groups, small.GR.Group)
	opts.Room = rewrite.NewRoom()
	leave, err := opts.Room.ForSchemas(t.Context(), 2<<20)
	large.Expect(err).NotTo(HaveOccurred())
	large.controller(opts)
	large.Eventually(large.Reason, soon).Should(Equal(v1alpha1.ReasonMigrating), "the walk waits")
	small.eventuallyMigrated(3)
	large.Expect(large.Stored()).To(Equal(map[string]int{"v1alpha1": 3}))
	leave()
	large.eventuallyMigrated(3)
}

// An alternative of three bytes takes as much memory as a field of thirty. A tenant may label a CRD of his own that has very many of them.
func TestSchemasThatTakeMoreMemoryThanThereIsAreNotDecoded(t *testing.T) {
	t.Parallel()
	alternatives := func(crd *apiextensionsv1.CustomResourceDefinition, n int) {
		for _, version := range crd.Spec.Versions {
			version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "integer", AnyOf: make([]apiextensionsv1.JSONSchemaProps, n)}
		}
	}
	crd := widgets(t).Build()
	alternatives(crd, 30_000)
	w := worldOf(t, crd, running.InstallFlipped(t, cp, crd, 3))
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(ContainSubstring("take as much memory as 1.8 MB of ordinary ones, and Moult decodes 1.6 MB: shorten lists such as anyOf, and nest fields less deeply"))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 3}))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { alternatives(crd, 10) })
	w.eventuallyMigrated(3)
}
