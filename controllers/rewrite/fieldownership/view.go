package fieldownership

import (
	"fmt"
	"iter"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// view is an object at one version, with the fields it has.
type view struct {
	object *unstructured.Unstructured
	typed  *typed.TypedValue
	fields *fieldpath.Set // leaves, and items of lists and maps
	leaves *fieldpath.Set
}

func (t *Types) view(object *unstructured.Unstructured) (*view, error) {
	typed, err := t.typed(object)
	if err != nil {
		return nil, fmt.Errorf("the object does not fit the schema of %s: %w", object.GetAPIVersion(), err)
	}
	fields, err := typed.ToFieldSet()
	if err != nil {
		return nil, err
	}
	return &view{object, typed, fields, fields.Leaves()}, nil
}

// isLeaf reports whether a path is one value: there is nothing below it that could
// be owned by itself.
func (v *view) isLeaf(path fieldpath.Path) bool {
	return v.leaves.Has(path) || below(v.fields, path).Empty() && v.has(path)
}

// has reports whether there is anything at a path.
func (v *view) has(path fieldpath.Path) bool {
	_, found := at(v.object.Object, path)
	return found
}

// atomic reports whether the list or map at a path is owned as one.
func (v *view) atomic(path fieldpath.Path) bool {
	value, _ := at(v.object.Object, path)
	switch value := value.(type) {
	case []any:
		return len(value) > 0 && below(v.fields, path).Empty()
	case map[string]any:
		return len(value) > 0 && below(v.fields, path).Empty()
	}
	return false
}

// from are the fields at a path and below it, whole paths.
func (v *view) from(path fieldpath.Path) *fieldpath.Set {
	rest := below(v.fields, path)
	if rest.Empty() {
		return fieldpath.NewSet(path)
	}
	from := fieldpath.NewSet()
	rest.Iterate(func(further fieldpath.Path) { from.Insert(append(path.Copy(), further...)) })
	return from
}

// paths are the members of a set. A path is good until the next one comes: to keep those of one object would take as much as its
// depth times the number of its fields. The set's own iterators cannot be left early.
func paths(fields *fieldpath.Set) iter.Seq[fieldpath.Path] {
	return func(yield func(fieldpath.Path) bool) {
		left := false
		fields.Iterate(func(path fieldpath.Path) { left = left || !yield(path) })
	}
}

// below are the fields under a path.
func below(fields *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		fields = fields.WithPrefix(element)
	}
	return fields
}

// removable are the leaves and, of the nodes, the items that hold nothing else.
func (v *view) removable(nodes, leaves *fieldpath.Set) *fieldpath.Set {
	remove := leaves.Copy()
	for node := range paths(nodes) {
		if v.fields.Has(node) && !v.isLeaf(node) && below(v.leaves, node).Difference(below(leaves, node)).Empty() {
			remove.Insert(node)
		}
	}
	return remove
}

// without is the object without some fields.
func (v *view) without(fields *fieldpath.Set) *unstructured.Unstructured {
	left, _ := v.typed.RemoveItems(fields).AsValue().Unstructured().(map[string]any)
	less := map[string]any{}
	maps.Copy(less, left)
	dropEmptied(less, v.object.Object)
	less["metadata"] = v.object.Object["metadata"]
	object := &unstructured.Unstructured{Object: less}
	object.SetGroupVersionKind(v.object.GroupVersionKind())
	return object.DeepCopy()
}

// dropEmptied takes out what is nil only because all of it was removed.
func dropEmptied(after, before map[string]any) {
	for name, left := range after {
		was, _ := before[name].(map[string]any)
		if left == nil && before[name] != nil {
			delete(after, name)
		} else if is, ok := left.(map[string]any); ok {
			dropEmptied(is, was)
		}
	}
}

// lacking are the leaves that are not there, or are something else, in a view of
// the same version.
func (v *view) lacking(less *view) (*fieldpath.Set, error) {
	comparison, err := v.typed.Compare(less.typed)
	if err != nil {
		return nil, err
	}
	lacking := fieldpath.NewSet()
	for path := range paths(comparison.Removed.Union(comparison.Modified)) {
		if !isMeta(path) && v.isLeaf(path) {
			lacking.Insert(path)
		}
	}
	return lacking, nil
}

// at is the value at a path.
func at(v any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		child, found := step(v, element)
		if !found {
			return nil, false
		}
		v = child
	}
	return v, true
}

func step(v any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		m, _ := v.(map[string]any)
		child, found := m[*element.FieldName]
		return child, found
	}
	items, _ := v.([]any)
	for i, item := range items {
		switch {
		case element.Index != nil && *element.Index == i,
			element.Value != nil && value.Equals(*element.Value, value.NewValueInterface(item)),
			element.Key != nil && hasKey(item, *element.Key):
			return item, true
		}
	}
	return nil, false
}

func hasKey(item any, key value.FieldList) bool {
	m, ok := item.(map[string]any)
	for _, field := range key {
		if ok = ok && value.Equals(field.Value, value.NewValueInterface(m[field.Name])); !ok {
			return false
		}
	}
	return ok
}
