package install

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A walk judges objects by all schemas of their CRD, from its beginning to its end. Those of large operators are flipped together.
func TestTheShippedMemoryIsEnoughForManyFields(t *testing.T) {
	moult := Install(t, cp, "clusters/base")
	var sets []*running.Witness
	var granted []*apiextensionsv1.CustomResourceDefinition
	for range 3 {
		group := builders.UniqueGroup(t)
		crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
		for i, version := range crd.Spec.Versions {
			manyFields(version.Schema.OpenAPIV3Schema, 25000-i) // v1 lacks one, so each object is looked at
		}
		w := running.InstallFlipped(t, cp, crd, 5)
		sets, granted = append(sets, w), append(granted, lives(w)...)
	}
	moult.Grant("memory-test-objects", granted...)
	for _, w := range sets {
		moult.inForce(t, "/apis/"+w.GR.Group+"/v1/widgets", "moult-objects")
		w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.MigrateLabel, "true")
		})
	}
	migratesWithin(t, moult, sets)
}

func manyFields(schema *apiextensionsv1.JSONSchemaProps, n int) {
	fields := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range n {
		fields[fmt.Sprintf("f%d", i)] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: fields}}
	schema.XPreserveUnknownFields = nil
}
