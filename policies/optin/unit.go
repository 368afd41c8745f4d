package optin

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// ExcludeValue of the opt-in label says that a CRD is left out on purpose. Like every value but "true" it opts nothing
// in; beyond that, no finding is made about the CRD, and the opt-in Component leaves it alone.
const ExcludeValue = "false"

// Unit is what one build amounts to.
type Unit struct {
	// Name is what the build is called, for example its folder.
	Name string
	// Objects are all that was built.
	Objects []*unstructured.Unstructured
	// Delivery says what applies the objects, nil if that is not known.
	Delivery *Delivery
	// Unseen: the delivery's content could not be built, so there are no Objects to judge, and what is found is a warning.
	Unseen bool
	// Patches are those of the build that set the opt-in label.
	Patches []Patch
	// ArgoCDConfig are the ConfigMaps argocd-cm that may hold for the unit.
	ArgoCDConfig []*unstructured.Unstructured
}

// Patch sets the opt-in label on what it selects, or takes it off.
type Patch struct {
	// File and Line are where the patch stands in a kustomization. A patch of the Delivery has none, but Field.
	File  string
	Line  int
	Field []string
	// TakesOff: the patch has null for the label.
	TakesOff bool
	// Reached is on how many CRDs of the build the patch has set the label, or from how many it has taken it off.
	Reached int
}

// CRD is what the rules look at in a CustomResourceDefinition.
type CRD struct {
	Object *unstructured.Unstructured
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
func CRDs(objects []*unstructured.Unstructured, labelKey string) []CRD {
	var crds []CRD
	for _, object := range objects {
		if gvk := object.GroupVersionKind(); gvk.Group != "apiextensions.k8s.io" || gvk.Kind != "CustomResourceDefinition" {
			continue
		}
		crd := CRD{Object: object}
		crd.Label = at(object, "metadata", "labels", labelKey)
		versions, _ := at(object, "spec", "versions").([]any)
		for _, version := range versions {
			if v, ok := version.(map[string]any); ok {
				crd.Versions = append(crd.Versions, fmt.Sprint(v["name"]))
			}
		}
		crds = append(crds, crd)
	}
	return crds
}

// at is the value of a field, nil if there is none. Manifests may be anything, so no field is taken for a map unseen.
func at(object *unstructured.Unstructured, fields ...string) any {
	var value any = object.Object
	for _, field := range fields {
		around, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = around[field]
	}
	return value
}

// under is fields below others, without sharing memory.
func under(fields []string, more ...string) []string { return append(slices.Clone(fields), more...) }

// fewNames lists names, so many that a line of text can bear them.
func fewNames(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
