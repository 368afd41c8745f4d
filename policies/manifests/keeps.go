package manifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// objection is why a manifest may not be turned from one version to the storage version, empty if it may. A patch is
// judged by the fields that it names only.
func (t *Target) objection(node *yaml.Node, from string, patch bool) string {
	object, err := contentOf(node)
	if err != nil {
		return "it cannot be read: " + err.Error()
	}
	return t.objectionTo(object, from, patch)
}

func (t *Target) objectionTo(object map[string]any, from string, patch bool) string {
	old, to := t.versions[from], t.versions[t.To]
	if to.schema == nil || object == nil {
		return ""
	}
	if to.hasStatus {
		delete(object, "status") // the API server ignores it
	}
	if patch {
		object, _ = withoutDirectives(object).(map[string]any)
	}
	lost := pruned(object, to.schema)
	if old != nil && old.schema != nil {
		known := pruned(object, old.schema)
		lost = slices.DeleteFunc(lost, func(path string) bool { return slices.Contains(known, path) }) // not kept now, either
	}
	if len(lost) > 0 {
		return fmt.Sprintf("%s does not know %s, and would drop %s without a word", t.To, strings.Join(lost, ", "), pronoun(len(lost)))
	}
	if why := misfit(object, to.schema, "", patch); why != "" && (old == nil || misfit(object, old.schema, "", patch) != why) {
		return why + " at " + t.To
	}
	if !patch && old != nil && old.schema != nil {
		return t.otherDefaults(object, old.schema, to.schema, from)
	}
	return ""
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// contentOf is a node as the API server decodes it.
func contentOf(node *yaml.Node) (map[string]any, error) {
	raw, err := yaml.NewRNode(node).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var content map[string]any
	err = json.Unmarshal(raw, &content)
	return content, err
}

// pruned are the paths that the API server would drop.
func pruned(object map[string]any, schema *structural.Structural) []string {
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(object), schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// withoutDirectives is a strategic merge patch without $patch, $setElementOrder and their like.
func withoutDirectives(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, _ any) bool { return strings.HasPrefix(key, "$") })
		for key, inner := range value {
			value[key] = withoutDirectives(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = withoutDirectives(inner)
		}
	}
	return value
}

// otherDefaults tells when a field that the manifest leaves out would mean something else.
func (t *Target) otherDefaults(object map[string]any, old, to *structural.Structural, from string) string {
	before, after := runtime.DeepCopyJSON(object), runtime.DeepCopyJSON(object)
	fill(before, old)
	fill(after, to)
	if path, was, is := differ(before, after, ""); path != "" {
		return fmt.Sprintf("%s is left out, which means %s at %s and %s at %s; write down which is meant", path, was, from, is, t.To)
	}
	return ""
}

// fill puts in the defaults, as the API server does it.
func fill(value any, schema *structural.Structural) {
	if schema == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, property := range schema.Properties {
			if _, there := value[name]; !there && property.Default.Object != nil {
				value[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
		}
		for name, inner := range value {
			fill(inner, propertyOf(schema, name))
		}
	case []any:
		for _, inner := range value {
			fill(inner, schema.Items)
		}
	}
}

func propertyOf(schema *structural.Structural, name string) *structural.Structural {
	if property, found := schema.Properties[name]; found {
		return &property
	}
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.Structural
	}
	return nil
}

// differ is the first path at which two values are not the same, and what they are there.
func differ(a, b any, path string) (where, inA, inB string) {
	if reflect.DeepEqual(a, b) {
		return "", "", ""
	}
	first, isMap := a.(map[string]any)
	second, alsoMap := b.(map[string]any)
	if isMap && alsoMap {
		keys := slices.Sorted(maps.Keys(first))
		for key := range second {
			if _, there := first[key]; !there {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			if where, inA, inB = differ(first[key], second[key], strings.TrimPrefix(path+"."+key, ".")); where != "" {
				return where, inA, inB
			}
		}
	}
	list, isList := a.([]any)
	other, alsoList := b.([]any)
	if isList && alsoList && len(list) == len(other) {
		for i := range list {
			if where, inA, inB = differ(list[i], other[i], fmt.Sprintf("%s[%d]", path, i)); where != "" {
				return where, inA, inB
			}
		}
	}
	return path, said(a), said(b)
}

func said(value any) string {
	if value == nil {
		return "nothing"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "something else"
	}
	return string(raw)
}
