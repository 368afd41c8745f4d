package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// misfit tells the first value that the API server would refuse: another type, a word that is not in the enum, a field
// that has to be there. It leaves patterns, bounds and rules to the API server, which refuses them aloud.
func misfit(value any, schema *structural.Structural, path string, patch bool) string {
	if schema == nil || value == nil {
		return ""
	}
	if !typeFits(value, schema) {
		return fmt.Sprintf("%s is %s, and has to be of type %s", path, said(value), schema.Type)
	}
	if v := schema.ValueValidation; v != nil && len(v.Enum) > 0 && !slices.ContainsFunc(v.Enum, func(one structural.JSON) bool { return same(one.Object, value) }) {
		return fmt.Sprintf("%s is %s, which is not allowed", path, said(value))
	}
	switch value := value.(type) {
	case map[string]any:
		return misfitInside(value, schema, path, patch)
	case []any:
		for i, inner := range value {
			if why := misfit(inner, schema.Items, fmt.Sprintf("%s[%d]", path, i), patch); why != "" {
				return why
			}
		}
	}
	return ""
}

func misfitInside(value map[string]any, schema *structural.Structural, path string, patch bool) string {
	if v := schema.ValueValidation; v != nil && !patch {
		for _, name := range v.Required {
			if _, there := value[name]; !there && schema.Properties[name].Default.Object == nil {
				return strings.TrimPrefix(path+"."+name, ".") + " is required"
			}
		}
	}
	for _, name := range sortedKeys(value) {
		if path == "" && (name == "metadata" || name == "apiVersion" || name == "kind") {
			continue
		}
		if why := misfit(value[name], propertyOf(schema, name), strings.TrimPrefix(path+"."+name, "."), patch); why != "" {
			return why
		}
	}
	return ""
}

// sortedKeys are those that any of the values has, each once.
func sortedKeys(values ...map[string]any) []string {
	var keys []string
	for _, value := range values {
		keys = slices.AppendSeq(keys, maps.Keys(value))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func typeFits(value any, schema *structural.Structural) bool {
	number, isNumber := value.(float64)
	_, isText := value.(string)
	switch {
	case schema.XIntOrString:
		return isText || isNumber
	case schema.Type == "":
		return true
	}
	switch value.(type) {
	case map[string]any:
		return schema.Type == "object"
	case []any:
		return schema.Type == "array"
	case string:
		return schema.Type == "string"
	case bool:
		return schema.Type == "boolean"
	}
	return schema.Type == "number" || schema.Type == "integer" && number == math.Trunc(number)
}

// same compares what may be an integer on one side and a float on the other.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	first, err := json.Marshal(a)
	second, again := json.Marshal(b)
	return err == nil && again == nil && bytes.Equal(first, second)
}
