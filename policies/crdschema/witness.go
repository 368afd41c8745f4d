package crdschema

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Which fields one schema drops from what another lets through is not derived from the schemas here. The API server's
// own code is asked about witnesses, which are objects that have everything in which two schemas can differ.

// anything is the schema of a value of which nothing is known, and plain that of one without fields.
var (
	anything = &structural.Structural{Extensions: structural.Extensions{XPreserveUnknownFields: true}}
	plain    = &structural.Structural{}
)

// meta are the fields that every resource has, whether its schema names them or not.
var meta = []string{"apiVersion", "kind", "metadata"}

// anyName is the name of a witness's field that no schema names. A CRD may name each field as it likes, so it is chosen for each pair of
// schemas.
type anyName string

// anyNameOf is one that none of some schemas has.
func anyNameOf(schemas ...*structural.Structural) anyName {
	const shortest = "\x00any"
	similar := map[string]bool{}
	for _, s := range schemas {
		eachName(s, func(name string) {
			if strings.HasPrefix(name, shortest) {
				similar[name] = true
			}
		})
	}
	name := shortest
	for similar[name] {
		name += "\x00"
	}
	return anyName(name)
}

// eachName hands over the name of each field that a schema names.
func eachName(s *structural.Structural, take func(string)) {
	if s == nil {
		return
	}
	for name := range s.Properties {
		take(name)
		eachName(new(s.Properties[name]), take)
	}
	eachName(s.Items, take)
	if s.AdditionalProperties != nil {
		eachName(s.AdditionalProperties.Structural, take)
	}
}

// witnesses are objects that the first schema lets through. Each has one of the values that a field may have, as far as the second
// schema treats them differently, so that together they have all.
func (n anyName) witnesses(from, to *structural.Structural) (all []map[string]any) {
	for _, value := range n.fields(from, to) {
		object, _ := value.(map[string]any)
		for _, name := range meta { // of the object itself
			delete(object, name)
		}
		all = append(all, object)
	}
	return all
}

// values are those that one field may have. Where the second schema is nil, it drops all fields.
func (n anyName) values(from, to *structural.Structural) (all []any) {
	if to == anything {
		return []any{"x"} // it keeps every value
	}
	open := from.XPreserveUnknownFields && from.Type != "object"
	if open || from.Type == "object" {
		all = append(all, n.fields(from, to)...)
	}
	if from.Type == "array" || open && to != nil {
		all = append(all, n.values(itemsKept(from), itemsKept(to)), []any{})
	}
	switch from.Type {
	case "integer":
		all = append(all, int64(1), int64(0))
	case "number":
		all = append(all, 1.5, 0.0)
	case "boolean":
		all = append(all, true, false)
	default:
		all = append(all, "x", "")
	}
	if from.Nullable || from == anything || from == plain { // pruning leaves a null that no schema is about
		all = append(all, nil)
	}
	return all
}

// fields are values with fields: the first has the first value of each, the second the second, and the last is empty.
func (n anyName) fields(from, to *structural.Structural) (all []any) {
	for name := range n.namesOf(from, to) {
		for i, value := range n.valuesOf(from, to, name) {
			if len(all) == i {
				all = append(all, map[string]any{})
			}
			of, _ := all[i].(map[string]any)
			of[name] = value
		}
	}
	return append(all, map[string]any{})
}

// namesOf are the names of fields that a value may have, and that one of two schemas has a word about.
func (n anyName) namesOf(from, to *structural.Structural) map[string]bool {
	names := map[string]bool{}
	for name := range from.Properties {
		names[name] = true
	}
	if from.XPreserveUnknownFields || from.AdditionalProperties != nil {
		names[string(n)] = true
		if to != nil {
			for name := range to.Properties {
				names[name] = true
			}
		}
	}
	if from.XEmbeddedResource || names[string(n)] && isEmbedded(to) {
		for _, name := range meta {
			names[name] = true
		}
	}
	return names
}

// valuesOf are the values of one of these fields.
func (n anyName) valuesOf(from, to *structural.Structural, name string) []any {
	before, _ := below(from, name)
	after, kept := below(to, name)
	isMeta := slices.Contains(meta, name) && (from.XEmbeddedResource || isEmbedded(to))
	switch {
	case isMeta && name == "metadata":
		all := []any{n.objectMeta()}
		if before != nil {
			all = append(all, n.values(before, before)...)
		}
		return all
	case isMeta || !kept:
		return []any{"x"}
	}
	return n.values(cmp.Or(before, anything), after)
}

// below is the schema of a field, and whether pruning keeps the field.
func below(s *structural.Structural, name string) (*structural.Structural, bool) {
	property, named := child(s, name)
	switch {
	case named:
		return property, true
	case s == nil:
		return nil, false
	case s.AdditionalProperties != nil:
		return cmp.Or(s.AdditionalProperties.Structural, plain), true
	case s.XPreserveUnknownFields:
		return anything, true
	}
	return nil, false
}

// itemsKept is the schema of the items of a list; nil if pruning drops all of their fields. A list that keeps what it does not
// know keeps the fields that its items do not name (skipPrune of k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning).
func itemsKept(s *structural.Structural) *structural.Structural {
	switch {
	case s == nil || !s.XPreserveUnknownFields:
		return items(s)
	case s.Items == nil:
		return anything
	}
	kept := *s.Items
	kept.XPreserveUnknownFields = true
	return &kept
}

func isEmbedded(s *structural.Structural) bool { return s != nil && s.XEmbeddedResource }

// objectMeta has all fields of metadata, and some that are none.
func (n anyName) objectMeta() map[string]any {
	yes, when := true, metav1.Unix(1, 0)
	known, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.ObjectMeta{
		Name: "x", GenerateName: "x", Namespace: "x", UID: "x", ResourceVersion: "1", Generation: 1,
		CreationTimestamp: when, DeletionTimestamp: &when, DeletionGracePeriodSeconds: new(int64(1)),
		Labels: map[string]string{"x": "x"}, Annotations: map[string]string{"x": "x"}, Finalizers: []string{"x"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "x", Kind: "x", Name: "x", UID: "x", Controller: &yes, BlockOwnerDeletion: &yes}},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x", Operation: "Apply", APIVersion: "x", Time: &when, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"x":{}}`), Subresource: "x"}},
	})
	if err != nil {
		panic(err) // nothing of it is from elsewhere
	}
	known["selfLink"] = "x" // the API server takes it, though nothing sets it any more
	for _, list := range []string{"ownerReferences", "managedFields"} {
		entries, _ := known[list].([]any)
		maps.Copy(entries[0].(map[string]any), map[string]any{string(n): "x"}) //nolint:errcheck,forcetypeassert // both have one entry, as above
	}
	known[string(n)] = "x"
	return known
}
