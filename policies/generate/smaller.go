package generate

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/policies/crdschema"
)

// index is that of a list's item.
var index = regexp.MustCompile(`\[\d+\]`)

// Smaller are objects that the API server takes and that have less than one has, the smallest first. The first has only
// what is on the way to a path and what is required. Then come those that lack one thing, and then those with a plainer
// value.
func (g *Generator) Smaller(ctx context.Context, object map[string]any, path string) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		all := pathsIn(object)
		if only := g.only(ctx, object, all, path); Size(only) < Size(object) && !yield(only) {
			return
		}
		for _, at := range all {
			smaller := runtime.DeepCopyJSON(object)
			remove(smaller, at)
			if g.Valid(ctx, smaller) && !yield(smaller) {
				return
			}
		}
		for _, at := range all {
			for _, value := range plainer(crdschema.At(object, at)) {
				smaller := runtime.DeepCopyJSON(object)
				crdschema.Put(smaller, at, value)
				if g.Valid(ctx, smaller) && !yield(smaller) {
					return
				}
			}
		}
	}
}

// only lacks what is not on the way to a path, for as far as it is valid without.
func (g *Generator) only(ctx context.Context, object map[string]any, all []crdschema.Path, path string) map[string]any {
	is := runtime.DeepCopyJSON(object)
	path = index.ReplaceAllString(path, "[]")
	for _, at := range all {
		here := index.ReplaceAllString(at.String(), "[]")
		if _, item := at[len(at)-1].(int); item || strings.HasPrefix(path, here) || strings.HasPrefix(here, path) {
			continue
		}
		smaller := runtime.DeepCopyJSON(is)
		remove(smaller, at)
		if g.Valid(ctx, smaller) {
			is = smaller
		}
	}
	return is
}

// pathsIn are those of all that may be taken out of an object, the most at once first.
func pathsIn(object map[string]any) (all []crdschema.Path) {
	for at := range crdschema.Each(object) {
		if len(at) > 0 && !fixed(at) {
			all = append(all, at)
		}
	}
	slices.SortStableFunc(all, func(a, b crdschema.Path) int {
		return cmp.Compare(Size(crdschema.At(object, b)), Size(crdschema.At(object, a)))
	})
	return all
}

// fixed is what identifies an object.
func fixed(at crdschema.Path) bool {
	return slices.Contains([]string{"apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace"}, at.String())
}

// plainer are values that say less.
func plainer(value any) []any {
	switch value := value.(type) {
	case string:
		if len(value) > 1 {
			return []any{"a", value[:len(value)/2]}
		}
	case int64:
		if value != 1 && value != 0 {
			return []any{int64(1), value / 2}
		}
	case float64:
		return []any{int64(1)}
	}
	return nil
}

// Size is how many values there are.
func Size(value any) int {
	size := 1
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			size += Size(inner)
		}
	case []any:
		for _, inner := range value {
			size += Size(inner)
		}
	}
	return size
}
