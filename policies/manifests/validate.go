package manifests

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"
)

// refusals are what the API server would refuse of an object at a version, in its own words and sorted. Rules in CEL are
// left to it: it refuses what breaks them aloud. A patch is not held to what it does not say.
func (v *version) refusals(object map[string]any, patch bool) []string {
	if v == nil || v.schema == nil {
		return nil
	}
	var refusals []string
	for _, err := range validation.ValidateCustomResource(nil, defaulted(object, v.schema), v.validator) {
		if !patch || err.Type == fielderrors.ErrorTypeTypeInvalid || err.Type == fielderrors.ErrorTypeNotSupported {
			refusals = append(refusals, err.Error())
		}
	}
	slices.Sort(refusals)
	return refusals
}
