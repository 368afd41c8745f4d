package survivors

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Types are what the fields of a kind are at a version, by the CRD's schema.
type Types struct{ validator validation.SchemaValidator }

// TypesOf reads a schema. Without one there is nothing to hold objects to.
func TypesOf(schema *apiextensionsv1.JSONSchemaProps) (*Types, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	return &Types{validator}, err
}

// Check returns ErrUndecodable if a field of a copy has another type than the schema says: the project's own types could not be
// filled from it. What else a schema asks for was not asked when the copy was taken.
func (t *Types) Check(c Copy) error {
	for _, wrong := range validation.ValidateCustomResource(nil, withoutNulls(c.object), t.validator) {
		if wrong.Type == field.ErrorTypeTypeInvalid {
			return fmt.Errorf("%w: %s", ErrUndecodable, wrong.Error())
		}
	}
	return nil
}

// withoutNulls is a copy of a value without the fields that are null, which is what a decoder takes them for.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, inside := range v {
			if inside != nil {
				kept[name] = withoutNulls(inside)
			}
		}
		return kept
	case []any:
		kept := make([]any, 0, len(v))
		for _, item := range v {
			kept = append(kept, withoutNulls(item))
		}
		return kept
	default:
		return value
	}
}
