package migration

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
)

// A survey reads the schemas to move entries of managedFields, and holds them until it ends.
func TestASurveyWaitsForTheRoomForSchemas(t *testing.T) {
	for _, mode := range []plan.Mode{plan.Rewriting, plan.Checking, plan.Surveying} {
		t.Run(string(mode), func(t *testing.T) {
			g := NewWithT(t)
			r := &Reconciler{opts: Options{Room: rewrite.NewRoom()}}
			large := apiextensionsv1.CustomResourceDefinitionVersion{Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Description: "abc of 1048576 bytes"}, // as setup.SchemaBytes reads it
			}}
			crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{large}}}
			leave, err := r.makeRoom(t.Context(), &walking{crd: crd, mode: mode})
			g.Expect(err).NotTo(HaveOccurred())

			other := make(chan error, 1)
			go func() {
				_, err := r.opts.Room.ForSchemas(t.Context(), 1<<20)
				other <- err
			}()
			g.Consistently(other, "100ms").ShouldNot(Receive(), "the walk has all the room")
			leave()
			g.Eventually(other).Should(Receive(BeNil()))
		})
	}
}
