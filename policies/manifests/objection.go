package manifests

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/policies/words"
)

// objection is why a manifest may not be converted from one version to the storage version, empty if it may. A patch is
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
	if lost := without(to.pruned(object), old.pruned(object)); len(lost) > 0 { // what is not kept now, either, is no loss
		return fmt.Sprintf("%s does not know %s, and would drop %s without a word", t.To, strings.Join(lost, ", "), words.Agree(len(lost), "it", "them"))
	}
	for _, v := range []*version{old, to} {
		if err := v.fits(object); err != nil {
			return err.Error()
		}
	}
	if refused := without(to.refusals(object, patch), old.refusals(object, patch)); len(refused) > 0 {
		return "the API server would refuse it at " + t.To + ": " + refused[0]
	}
	if !patch && old != nil && old.schema != nil {
		return t.otherDefaults(object, old.schema, to.schema, from)
	}
	return ""
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

// without are those that others lack.
func without(some, others []string) []string {
	return slices.DeleteFunc(some, func(one string) bool { return slices.Contains(others, one) })
}

// pruned are the paths that the API server would drop; none if it keeps what it does not know.
func (v *version) pruned(object map[string]any) []string {
	if v == nil || v.schema == nil {
		return nil
	}
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(object), v.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
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

// otherDefaults reports when a field that the manifest leaves out, or writes as null, means something else at the new
// version.
func (t *Target) otherDefaults(object map[string]any, old, to *structural.Structural, from string) string {
	d, differs := differ(defaulted(object, old), defaulted(object, to), object, "")
	if !differs {
		return ""
	}
	written := "left out"
	if d.written == nil {
		written = "null"
	}
	return fmt.Sprintf("%s is %s, which means %s at %s and %s at %s; write down the one that you want", d.path, written, said(d.before), from, said(d.after), t.To)
}

// defaulted is an object as the API server takes it. It has the defaults of the schema, also in place of null where
// null is not allowed. Where there is no default, such a null is dropped.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
func defaulted(object map[string]any, schema *structural.Structural) map[string]any {
	filled := runtime.DeepCopyJSON(object)
	defaulting.Default(filled, schema)
	defaulting.PruneNonNullableNullsWithoutDefaults(filled, schema)
	return filled
}

// fits is the error of an object that would be too large with all defaults.
func (v *version) fits(object map[string]any) error {
	if v == nil {
		return nil
	}
	return v.defaults.Fit(object)
}

// difference is where two values are not the same, and what a manifest has written there. Each may be absent.
type difference struct {
	path                   string
	before, after, written any
}

// absent is what a map has under a key that it does not have; null is nil.
type absent struct{}

// differ finds the first difference between two values that were made of what is written.
func differ(before, after, written any, path string) (difference, bool) {
	if reflect.DeepEqual(before, after) {
		return difference{}, false
	}
	first, isMap := before.(map[string]any)
	second, alsoMap := after.(map[string]any)
	if isMap && alsoMap {
		keys := slices.AppendSeq(slices.Collect(maps.Keys(first)), maps.Keys(second))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			d, differs := differ(under(first, key), under(second, key), under(written, key), strings.TrimPrefix(path+"."+key, "."))
			if differs {
				return d, true
			}
		}
	}
	list, isList := before.([]any)
	other, alsoList := after.([]any)
	original, writtenAsList := written.([]any)
	if isList && alsoList && len(list) == len(other) {
		for i := range list {
			var item any = absent{}
			if writtenAsList && i < len(original) {
				item = original[i]
			}
			if d, differs := differ(list[i], other[i], item, fmt.Sprintf("%s[%d]", path, i)); differs {
				return d, true
			}
		}
	}
	return difference{path: path, before: before, after: after, written: written}, true
}

func under(value any, key string) any {
	object, _ := value.(map[string]any)
	if inner, there := object[key]; there {
		return inner
	}
	return absent{}
}

func said(value any) string {
	if value == (absent{}) {
		return "nothing"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "something else"
	}
	return string(raw)
}

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
