package conversion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	crds "github.com/moult-dev/moult/api/crd"
)

// Engine does what the API server does with objects of one CRD. It may be asked from several goroutines.
type Engine struct {
	// CRD is the name, and Storage the version at which objects are stored.
	CRD, Storage string

	group, kind string
	versions    map[string]*version
	// unknown says why nothing can be told of objects at other versions; empty if it can.
	unknown string
}

// version is one of spec.versions.
type version struct {
	schema    *structural.Structural // nil if the version has none: everything is kept, and nothing refused
	keeps     bool                   // everything that the schema does not know
	validator validation.SchemaValidator
	cel       *cel.Validator // nil without rules
}

// New makes an engine of a CRD as the API server would take it. It is an error if a schema is none, or is not structural.
func New(crd *apiextensionsv1.CustomResourceDefinition) (*Engine, error) {
	e := &Engine{CRD: crd.Name, Storage: crds.StorageVersion(crd), group: crd.Spec.Group, kind: crd.Spec.Names.Kind, versions: map[string]*version{}}
	if e.Storage == "" {
		return nil, fmt.Errorf("%s has no storage version", crd.Name)
	}
	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		e.unknown = "a webhook converts it, and what that does is not known here"
	}
	for i := range crd.Spec.Versions {
		name := crd.Spec.Versions[i].Name
		v, err := versionOf(crd, name)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s at %s cannot be used: %w", crd.Name, name, err)
		}
		e.versions[name] = v
	}
	return e, nil
}

func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) (*version, error) {
	v := &version{keeps: crd.Spec.PreserveUnknownFields}
	schema, err := apihelpers.GetSchemaForVersion(crd, name)
	if err != nil {
		return nil, err
	}
	if schema == nil || schema.OpenAPIV3Schema == nil {
		v.keeps = true
		return v, nil
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(schema, internal, nil); err != nil {
		return nil, err
	}
	if v.schema, err = structural.NewStructural(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if err := errors.Join(structural.ValidateStructural(nil, v.schema).ToAggregate()); err != nil {
		return nil, err
	}
	if v.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	v.cel = cel.NewValidator(v.schema, true, celconfig.PerCallLimit)
	return v, nil
}

// read is an object as the API server has it after it was converted to the version: what the version does not know is
// dropped, and its paths are returned; defaults are filled in.
func (v *version) read(object map[string]any) (as map[string]any, dropped []string) {
	as = runtime.DeepCopyJSON(object)
	if v.schema == nil {
		return as, nil
	}
	if !v.keeps {
		dropped = pruning.PruneWithOptions(as, v.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	}
	defaulting.Default(as, v.schema)
	defaulting.PruneNonNullableNullsWithoutDefaults(as, v.schema)
	return as, dropped
}

// refused is what the API server says against an object in a write: one that makes it anew if old is nil, else one that
// updates old, with ratcheting. It follows Validate and ValidateUpdate of the API server's own strategy
// (k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go), but for metadata.
func (v *version) refused(ctx context.Context, object, old map[string]any) (errs field.ErrorList) {
	if v.schema == nil {
		return nil
	}
	var celOptions []cel.Option
	if old == nil {
		errs = validation.ValidateCustomResource(nil, object, v.validator)
	} else {
		correlated := common.NewCorrelatedObject(object, old, &model.Structural{Structural: v.schema})
		errs = validation.ValidateCustomResourceUpdate(nil, object, old, v.validator, validation.WithRatcheting(correlated))
		celOptions = append(celOptions, cel.WithRatcheting(correlated))
	}
	errs = append(errs, objectmeta.Validate(nil, object, v.schema, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, v.schema, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.schema, object)...)
	}
	if v.cel == nil || blocks(errs) {
		return errs
	}
	var before any
	if old != nil {
		before = old
	}
	broken, _ := v.cel.Validate(ctx, nil, v.schema, object, before, celconfig.RuntimeCELCostBudget, celOptions...)
	return append(errs, broken...)
}

// blocking are the errors after which the API server evaluates no rule.
var blocking = []field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}

func blocks(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return slices.Contains(blocking, err.Type) })
}
