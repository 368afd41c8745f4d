package crddiff

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// having is a CRD whose versions have these fields, each of one letter; it stores at the last.
func having(versions ...string) *definition {
	crd := &definition{}
	crd.Name = "widgets.example.com"
	for i := 0; i < len(versions); i += 2 {
		schema := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
		for _, field := range versions[i+1] {
			schema.Properties[string(field)] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: versions[i], Served: true, Storage: i == len(versions)-2, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
		})
	}
	return crd
}

// Users of a version that comes are those of the version before it.
func TestAVersionThatComesIsHeldAgainstTheOneBeforeIt(t *testing.T) {
	const version = "v1beta1"
	for name, c := range map[string]struct {
		base, head []string
		want       []string
	}{
		"between two":               {[]string{"v1alpha1", "ab", "v1", "abc"}, []string{"v1alpha1", "ab", version, "a", "v1", "abc"}, []string{"FieldRemoved b v1alpha1"}},
		"after several":             {[]string{"v1alpha1", "a", "v1alpha2", "ab"}, []string{"v1alpha1", "a", version, "a", "v1alpha2", "ab"}, []string{"FieldRemoved b v1alpha2"}},
		"before all: the stored":    {[]string{"v1", "ac", "v2", "ab"}, []string{version, "a", "v1", "ac", "v2", "ab"}, []string{"FieldRemoved b v2"}},
		"with all that it had":      {[]string{"v1alpha1", "ab", "v1", "abc"}, []string{"v1alpha1", "ab", version, "ab", "v1", "abc"}, nil},
		"it takes the place of one": {[]string{"v1alpha1", "ab", "v1", "abc"}, []string{version, "a", "v1", "abc"}, []string{"FieldRemoved b v1alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, change := range Compare(having(c.base...), having(c.head...), "").Changes {
				if change.Version == version && change.Field != "" {
					found = append(found, fmt.Sprintf("%s %s %s", change.Rule, change.Field, change.Against))
				}
			}
			NewWithT(t).Expect(found).To(Equal(c.want))
		})
	}
}

// What is as grave comes in the order of the CRD's versions, whatever the fields are called.
func TestChangesAreInTheOrderOfTheVersions(t *testing.T) {
	var order []string
	for _, change := range Compare(having("v1", "z", "v1beta1", "y", "v1alpha1", "x"), having("v1", "zc", "v1beta1", "yb", "v1alpha1", "xa"), "").Changes {
		if change.Rule == FieldAdded {
			order = append(order, change.Version+" "+change.Field)
		}
	}
	NewWithT(t).Expect(order).To(Equal([]string{"v1 c", "v1beta1 b", "v1alpha1 a"}))
}
