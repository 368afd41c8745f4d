package conversion

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Outcome is what becomes of one object when it is stored at the storage version.
type Outcome struct {
	// Object is namespace/name, and From the version that it is written at.
	Object string `json:"object"`
	From   string `json:"from"`
	// Lost are the paths that the version it is written at, or the storage version, does not know, sorted; list items are told by
	// their index. What is only a default of the version before is no loss.
	Lost []string `json:"lost,omitempty"`
	// Refused is why the API server would not take the object as it then is, although nothing in it changes.
	Refused []string `json:"refused,omitempty"`
	// Ratcheted is what is against the schema, and is let pass for as long as it does not change.
	Ratcheted []string `json:"ratcheted,omitempty"`
	// Unknown says why nothing can be told; else empty.
	Unknown string `json:"unknown,omitempty"`
}

// IsOf tells whether an object is one of the CRD's.
func (e *Engine) IsOf(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == e.group && object["kind"] == e.kind
}

// Rehearse tells what becomes of an object that is read at the version that it names. It does not change it.
func (e *Engine) Rehearse(ctx context.Context, object map[string]any) Outcome {
	apiVersion, _ := object["apiVersion"].(string)
	_, from, _ := strings.Cut(apiVersion, "/")
	o := Outcome{Object: nameOf(object), From: from}
	before, to := e.versions[from], e.versions[e.Storage]
	switch {
	case before == nil:
		o.Unknown = fmt.Sprintf("the CRD has no version %s, so nothing reads it", from)
		return o
	case from != e.Storage && e.unknown != "":
		o.Unknown = e.unknown
		return o
	}
	read, lost := before.read(object) // its own version may know less than the one that it was written by
	read["apiVersion"] = e.group + "/" + e.Storage
	after, dropped := to.read(read)
	o.Lost = lost
	for _, path := range dropped {
		if !before.isDefault(object, path) {
			o.Lost = append(o.Lost, path)
		}
	}
	slices.Sort(o.Lost)
	o.Refused = said(to.refused(ctx, runtime.DeepCopyJSON(after), runtime.DeepCopyJSON(after)))
	for _, problem := range said(to.refused(ctx, runtime.DeepCopyJSON(after), nil)) {
		if !slices.Contains(o.Refused, problem) {
			o.Ratcheted = append(o.Ratcheted, problem)
		}
	}
	return o
}

// isDefault tells whether what lies at a path is there again when the object is read without it.
func (v *version) isDefault(object map[string]any, path string) bool {
	with, _ := v.read(object)
	without := runtime.DeepCopyJSON(object)
	if !remove(without, segments(path)) {
		return true // nobody wrote it
	}
	again, _ := v.read(without)
	return reflect.DeepEqual(with, again)
}

// segment is a name, or an index in brackets.
var segment = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// segments are those of a path as pruning tells it, such as spec.items[0].name.
func segments(path string) []string { return segment.FindAllString(path, -1) }

// remove takes a value out, and tells whether it was there.
func remove(value any, path []string) bool {
	switch value := value.(type) {
	case map[string]any:
		// A name may have dots in it: the longest that is there counts.
		for n := len(path); n > 0; n-- {
			key := strings.Join(path[:n], ".")
			inner, there := value[key]
			switch {
			case !there:
			case n == len(path):
				delete(value, key)
				return true
			default:
				return remove(inner, path[n:])
			}
		}
	case []any:
		var i int
		if _, err := fmt.Sscanf(path[0], "[%d]", &i); err == nil && i < len(value) && len(path) > 1 {
			return remove(value[i], path[1:])
		}
	}
	return false
}

func nameOf(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func said(errs field.ErrorList) (all []string) {
	for _, err := range errs {
		all = append(all, err.Error())
	}
	slices.Sort(all)
	return slices.Compact(all)
}
