package conversion

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/moult-dev/moult/policies/crdschema"
)

// version is one of spec.versions, with what the API server asks of objects in a write.
type version struct {
	*crdschema.Version
	validator validation.SchemaValidator
	cel       *cel.Validator // nil without rules
}

func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) (*version, error) {
	reads, err := crdschema.VersionOf(crd, name)
	if err != nil {
		return nil, err
	}
	v := &version{Version: reads}
	if v.Schema == nil {
		return v, nil
	}
	schema, err := apihelpers.GetSchemaForVersion(crd, name)
	if err != nil {
		return nil, err
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(schema, internal, nil); err != nil {
		return nil, err
	}
	if v.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	v.cel = cel.NewValidator(v.Schema, true, celconfig.PerCallLimit)
	return v, nil
}

// refused is what the API server says against an object in a write: one that makes it anew if old is nil, else one that
// updates old, with ratcheting. It follows Validate and ValidateUpdate of the API server's own strategy
// (k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go), but for metadata.
func (v *version) refused(ctx context.Context, object, old map[string]any) (errs field.ErrorList) {
	if v.Schema == nil {
		return nil
	}
	var celOptions []cel.Option
	if old == nil {
		errs = validation.ValidateCustomResource(nil, object, v.validator)
	} else {
		correlated := common.NewCorrelatedObject(object, old, &model.Structural{Structural: v.Schema})
		errs = validation.ValidateCustomResourceUpdate(nil, object, old, v.validator, validation.WithRatcheting(correlated))
		celOptions = append(celOptions, cel.WithRatcheting(correlated))
	}
	errs = append(errs, objectmeta.Validate(ctx, nil, object, v.Schema, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, v.Schema, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.Schema, object)...)
	}
	if v.cel == nil || blocks(errs) {
		return errs
	}
	var before any
	if old != nil {
		before = old
	}
	broken, _ := v.cel.Validate(ctx, nil, v.Schema, object, before, celconfig.RuntimeCELCostBudget, celOptions...)
	return append(errs, broken...)
}

// blocking are the errors after which the API server evaluates no rule.
var blocking = []field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}

func blocks(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return slices.Contains(blocking, err.Type) })
}
