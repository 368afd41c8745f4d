package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"

	"github.com/moult-dev/moult/policies/crddiff"
)

// untold are the losses that nobody told: for each version that stays, and for each that is stored or goes against the
// new storage version, an object with every field is pruned as the API server would.
func untold(base, head *apiextensionsv1.CustomResourceDefinition, crd crddiff.Diff) ([]string, error) {
	var missing []string
	for i := range base.Spec.Versions {
		was := &base.Spec.Versions[i]
		into := []string{was.Name}
		if stays := named(head, was.Name); stays == nil || was.Storage && crd.Head.Storage != was.Name {
			into = append(into, crd.Head.Storage)
		}
		for _, to := range into {
			is := named(head, to)
			if is == nil {
				continue // the version itself, which goes
			}
			lost, err := pruned(was, is)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", base.Name, was.Name, err)
			}
			for _, path := range lost {
				if !told(crd, was.Name, to, path) {
					missing = append(missing, fmt.Sprintf("%s %s: %s is lost in %s and nobody says so", base.Name, was.Name, path, to))
				}
			}
		}
	}
	return missing, nil
}

func named(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// pruned are the fields of the old schema that the API server would drop by the new one.
func pruned(was, is *apiextensionsv1.CustomResourceDefinitionVersion) ([]string, error) {
	before, err := structuralOf(was)
	if err != nil {
		return nil, err
	}
	after, err := structuralOf(is)
	if err != nil {
		return nil, err
	}
	object, ok := full(before).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no object", was.Name)
	}
	return pruning.PruneWithOptions(object, after, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}), nil
}

func structuralOf(v *apiextensionsv1.CustomResourceDefinitionVersion) (*structural.Structural, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, err
	}
	return structural.NewStructural(internal)
}

// full is a value that has every field of a schema.
func full(s *structural.Structural) any {
	switch {
	case s.Items != nil:
		return []any{full(s.Items)}
	case s.Type == "object" || len(s.Properties) > 0:
		object := map[string]any{}
		for name := range s.Properties {
			property := s.Properties[name]
			object[name] = full(&property)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			object["any-key"] = full(s.AdditionalProperties.Structural)
		}
		return object
	default:
		return "value"
	}
}

// told tells whether a change says that the field, or one around it, is lost. Pruning calls the members of lists [0].
func told(crd crddiff.Diff, version, to, path string) bool {
	path = strings.NewReplacer("[0]", "[*]", ".any-key", "{*}").Replace(path)
	return slices.ContainsFunc(crd.Changes, func(c crddiff.Change) bool {
		if c.Field != path && !strings.HasPrefix(path, c.Field+".") && !strings.HasPrefix(path, c.Field+"[") && !strings.HasPrefix(path, c.Field+"{") {
			return false
		}
		switch c.Rule { //nolint:exhaustive // the others do not say that anything is lost
		case crddiff.FieldRemoved:
			return c.Version == version && to == version
		case crddiff.FieldLost:
			return c.Version == version && c.Against == to
		case crddiff.FieldTypeChanged, crddiff.UnknownFieldsPruned:
			return c.Version == version
		default:
			return false
		}
	})
}
