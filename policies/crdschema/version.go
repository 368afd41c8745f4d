package crdschema

import (
	"fmt"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
)

// Version is how the API server reads objects at one version of a CRD.
type Version struct {
	// Schema is nil if the version has none: everything is kept then.
	Schema   *structural.Structural
	keeps    bool // everything that the schema does not know
	defaults *Defaults
}

// mostErrors is how many are named of a schema. To write all takes as long as their number squared.
const mostErrors = 20

// VersionOf is one of a CRD's versions. It is an error if the CRD does not have it, or if its schema is not structural: then it
// cannot be told what the API server drops. It is a *TooLarge if its defaults alone would make an object too large.
func VersionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) (*Version, error) {
	v := &Version{keeps: crd.Spec.PreserveUnknownFields}
	schema, err := apihelpers.GetSchemaForVersion(crd, name)
	if err != nil {
		return nil, err
	}
	if schema == nil || schema.OpenAPIV3Schema == nil {
		v.keeps = true
		return v, nil
	}
	if v.Schema, err = structuralOf(schema.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", name, err)
	}
	if errs := structural.ValidateStructural(nil, v.Schema); len(errs) > 0 {
		return nil, fmt.Errorf("the schema of %s is not structural: %w", name, errs[:min(len(errs), mostErrors)].ToAggregate())
	}
	if err := defaulting.PruneDefaults(v.Schema); err != nil {
		return nil, err
	}
	v.defaults, err = DefaultsOf(v.Schema, name)
	return v, err
}

// structuralOf is structural.NewStructural of a schema, node by node: as the API server's internal type, a large schema would take as much
// once more.
func structuralOf(s *apiextensionsv1.JSONSchemaProps) (*structural.Structural, error) {
	node := *s
	inner, fields, others := node.Items, node.Properties, node.AdditionalProperties
	if node.Properties = nil; inner != nil && len(inner.JSONSchemas) == 0 {
		node.Items = nil
	}
	if others != nil && others.Schema != nil {
		node.AdditionalProperties = nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&node, internal, nil); err != nil {
		return nil, err
	}
	is, err := structural.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	if inner != nil && inner.Schema != nil {
		if is.Items, err = structuralOf(inner.Schema); err != nil {
			return nil, err
		}
	}
	if len(fields) > 0 {
		is.Properties = make(map[string]structural.Structural, len(fields))
	}
	for name := range fields {
		field, err := structuralOf(new(fields[name]))
		if err != nil {
			return nil, err
		}
		is.Properties[name] = *field
	}
	if others != nil && others.Schema != nil {
		is.AdditionalProperties = &structural.StructuralOrBool{Bool: true}
		is.AdditionalProperties.Structural, err = structuralOf(others.Schema)
	}
	return is, err
}

// Coerced is an object as the API server has it when it has decoded or converted it. It lacks what the version does not
// know, and nulls that it does not allow. It follows unstructuredSchemaCoercer of
// k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go, but for the object's own metadata. Invalid
// metadata of embedded objects are an error, or are dropped if dropping is asked for, as when an object is read from
// the storage.
func (v *Version) Coerced(object map[string]any, drop bool) (map[string]any, error) {
	as := runtime.DeepCopyJSON(object)
	if err := v.Coerce(as, drop); err != nil {
		return nil, err
	}
	return as, nil
}

// Coerce is Coerced in place: the object is changed, also where it is an error.
func (v *Version) Coerce(object map[string]any, drop bool) error {
	if v.Schema == nil {
		return nil
	}
	if !v.keeps {
		pruning.Prune(object, v.Schema, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(object, v.Schema)
	}
	if err, _ := objectmeta.CoerceWithOptions(nil, object, v.Schema, false, objectmeta.CoerceOptions{DropInvalidFields: drop}); err != nil {
		return err
	}
	return nil
}

// Read is an object as the API server has it when it has read it from the storage at the version: with defaults filled in. The error is a
// *TooLarge if there is no memory for them.
func (v *Version) Read(object map[string]any) (map[string]any, error) {
	as, err := v.Coerced(object, true)
	if err != nil {
		return nil, err
	}
	return as, v.Fill(as)
}

// Fill fills in defaults. The error is a *TooLarge, and then nothing is filled in.
func (v *Version) Fill(object map[string]any) error { return v.defaults.Fill(object) }

// Add is how many bytes of memory Fill would add to an object.
func (v *Version) Add(object map[string]any) int64 { return v.defaults.Add(object) }

// changed hands over the paths at which an object, as it is known at a version, loses a value or has another one when it is stored at
// another version. A path is good until the next one comes. A null that is as good as absent is not lost, but it is another value where a
// default takes its place. Metadata of embedded objects that are none there are dropped, or the API server refuses to convert the
// object: then nothing changes. The error is a *TooLarge.
func (v *Version) changed(known map[string]any, to *Version, drop bool, take func(Path)) error {
	stored, err := to.Coerced(known, drop)
	if err != nil {
		return nil //nolint:nilerr // the object stays as it is
	}
	if err := to.Fill(stored); err != nil {
		return err
	}
	lost := func(p Path) {
		if !v.IsAbsent(known, p, to) {
			take(p)
		}
	}
	Compare(known, stored, lost, take, func(Path) {})
	return nil
}

// IsAbsent reports whether what lies at a path is null and as good as not there. It is not where null keeps a default away, nor where
// there are keys or items to be counted. A key may be one at this version, or at the one that it is stored at, if any.
func (v *Version) IsAbsent(object map[string]any, p Path, stored *Version) bool {
	name, isName := p[len(p)-1].(string)
	if At(object, p) != nil || !isName {
		return false
	}
	if field, named := child(SchemaAt(v.Schema, p[:len(p)-1]), name); named {
		return field.Default.Object == nil
	}
	return !v.isKey(p, name) && !stored.isKey(p, name)
}

// isKey reports whether what lies at a path is the value of a key of a map.
func (v *Version) isKey(p Path, name string) bool {
	if v == nil {
		return false
	}
	around := SchemaAt(v.Schema, p[:len(p)-1])
	_, named := child(around, name)
	return around != nil && around.AdditionalProperties != nil && !named
}

// IsDefault is whether what lies at a path is there again when the object is read without it. An item of a list never
// is. The API server fills in each field for itself, so the object is read without what lies beside the path. A large
// object may be asked about at each of its paths.
func (v *Version) IsDefault(object map[string]any, p Path) bool {
	last := len(p) - 1
	if _, there := inner(At(object, p[:last]), p[last]); !there {
		return true
	}
	if _, item := p[last].(int); item {
		return false
	}
	if v.defaults != nil && v.defaults.adds.below(p).to(At(object, p)) > MostFilled {
		return false
	}
	schema := along(v.Schema, p)
	one := &Version{Schema: schema, keeps: v.keeps, defaults: &Defaults{schema: schema}}
	was, err := one.Read(only(p, At(object, p)))
	if err != nil {
		return false
	}
	is, err := one.Read(only(p[:last], map[string]any{}))
	return err == nil && reflect.DeepEqual(was, is)
}
