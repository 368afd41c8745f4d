package optin

import (
	"fmt"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
)

// ExcludeValue of the opt-in label says that a CRD is left out on purpose. Like every value but "true" it opts nothing
// in; beyond that, no finding is made about the CRD, and the opt-in Component leaves it alone.
const ExcludeValue = "false"

// CRD is what the rules look at in a CustomResourceDefinition.
type CRD struct {
	Object *delivery.Object
	// Versions are all names in spec.versions, in their order.
	Versions []string
	// Label is the value of the opt-in label, nil if there is none; manifests may hold something else than a string.
	Label any
}

// OptedIn tells whether the label opts the CRD in.
func (c CRD) OptedIn() bool { return c.Label == v1alpha1.MigrateLabelValue }

// Excluded tells whether the CRD is left out on purpose.
func (c CRD) Excluded() bool { return c.Label == ExcludeValue }

// concerned tells whether there is something to migrate, now or when another version comes.
func (c CRD) concerned() bool { return !c.Excluded() && (len(c.Versions) > 1 || c.OptedIn()) }

// CRDs are the CustomResourceDefinitions among objects.
func CRDs(objects []*delivery.Object, labelKey string) []CRD {
	var crds []CRD
	for _, object := range objects {
		if !object.IsCRD() {
			continue
		}
		crd := CRD{Object: object, Label: object.Field("metadata", "labels", labelKey)}
		for _, version := range object.Entries("spec", "versions") {
			crd.Versions = append(crd.Versions, fmt.Sprint(version.Field("name")))
		}
		crds = append(crds, crd)
	}
	return crds
}
