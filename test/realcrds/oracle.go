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

// misjudged are the losses that nobody told, and those that were told and are none: for each version that stays, and for each
// that is stored or goes against the new storage version, an object with every field is pruned as the API server would.
func misjudged(base, head *apiextensionsv1.CustomResourceDefinition, crd crddiff.Diff) ([]string, error) {
	var wrong []string
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
			for _, path := range untold(crd, was.Name, to, lost) {
				wrong = append(wrong, fmt.Sprintf("%s %s: %s is lost in %s and nobody says so", base.Name, was.Name, path, to))
			}
			for _, path := range unlost(crd, was.Name, to, lost) {
				wrong = append(wrong, fmt.Sprintf("%s %s: %s is said to be lost in %s, and is not", base.Name, was.Name, path, to))
			}
		}
	}
	return wrong, nil
}

func named(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// pruned are the fields of the old schema that the API server would drop by the new one, by the names of changes.
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
	lost := pruning.PruneWithOptions(object, after, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for i := range lost {
		lost[i] = asTold.Replace(lost[i])
	}
	return lost, nil
}

// asTold turns what pruning calls the members of lists and maps into what a change calls them.
var asTold = strings.NewReplacer("[0]", "[*]", ".any-key", "{*}")

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

// untold are the losses of which no change says that the field, or one around it, is lost.
func untold(crd crddiff.Diff, version, to string, lost []string) []string {
	return slices.DeleteFunc(slices.Clone(lost), func(path string) bool {
		return slices.ContainsFunc(crd.Changes, func(c crddiff.Change) bool {
			return within(path, c.Field) && (saysLost(c, version, to) || saysPruned(c, version))
		})
	})
}

// unlost are the fields that a change says are lost, and that pruning keeps, with all that is in them and around them.
func unlost(crd crddiff.Diff, version, to string, lost []string) (kept []string) {
	for _, c := range crd.Changes {
		if saysLost(c, version, to) && !slices.ContainsFunc(lost, func(path string) bool { return within(path, c.Field) || within(c.Field, path) }) {
			kept = append(kept, c.Field)
		}
	}
	return kept
}

// saysLost reports whether a change says that its field is lost in a version.
func saysLost(c crddiff.Change, version, to string) bool {
	switch c.Rule { //nolint:exhaustive // the others do not say that a field is lost
	case crddiff.FieldRemoved:
		return c.Version == version && to == version
	case crddiff.FieldLost:
		return c.Version == version && c.Against == to
	default:
		return false
	}
}

// saysPruned reports whether a change says that what is in its field may be lost.
func saysPruned(c crddiff.Change, version string) bool {
	return c.Version == version && (c.Rule == crddiff.FieldTypeChanged || c.Rule == crddiff.UnknownFieldsPruned)
}

// within reports whether a path is a field, or one in it.
func within(path, field string) bool {
	rest, is := strings.CutPrefix(path, field)
	return is && (rest == "" || strings.ContainsAny(rest[:1], ".[{"))
}
