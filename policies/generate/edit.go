package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/crdschema"
)

// locate is the path to the deepest value that a field of an error leads to.
func locate(value any, field string) crdschema.Path {
	field = strings.TrimPrefix(field, ".")
	switch value := value.(type) {
	case map[string]any:
		names := slices.SortedFunc(maps.Keys(value), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
		for _, name := range names {
			rest, found := strings.CutPrefix(field, name)
			if !found {
				rest, found = strings.CutPrefix(field, "["+name+"]")
			}
			if found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return append(crdschema.Path{name}, locate(value[name], rest)...)
			}
		}
	case []any:
		for i := range value {
			if rest, found := strings.CutPrefix(field, fmt.Sprintf("[%d]", i)); found {
				return append(crdschema.Path{i}, locate(value[i], rest)...)
			}
		}
	}
	return nil
}

// remove takes out what lies at a path. What a root has to have stays.
func remove(object map[string]any, at crdschema.Path) {
	last := len(at) - 1
	switch parent := crdschema.At(object, at[:last]).(type) {
	case map[string]any:
		if name, is := at[last].(string); is && (last > 0 || !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)) {
			delete(parent, name)
		}
	case []any:
		if i, is := at[last].(int); is && i < len(parent) && last > 0 {
			crdschema.Put(object, at[:last], slices.Delete(slices.Clone(parent), i, i+1))
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
