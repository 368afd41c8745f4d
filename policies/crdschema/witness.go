package crdschema

import (
	"cmp"
	"iter"
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

// maker makes witnesses.
type maker struct {
	unnamed string
	meta    map[string]any
	open    *values // of a field of which nothing is known, and of which all fields are dropped
}

// witnesses are objects that the first schema lets through. Each has one of the values that a field may have, as far as the second
// schema treats them differently, so that together they have all. They are made one at a time, since each may be as large as a schema.
func (n anyName) witnesses(from, to *structural.Structural) iter.Seq[map[string]any] {
	m := &maker{unnamed: string(n), meta: n.objectMeta()}
	of := &values{}
	m.fields(of, from, to)
	of.fields = slices.DeleteFunc(of.fields, func(f fieldValues) bool { return slices.Contains(meta, f.name) }) // of the object itself
	return func(yield func(map[string]any) bool) {
		for i := range of.objects {
			if object, _ := of.at(i).(map[string]any); !yield(object) {
				return
			}
		}
	}
}

// values are those that one field may have, in this order.
type values struct {
	meta map[string]any
	// objects have fields: the first has the first value of each, the second the second, and the last is empty.
	fields  []fieldValues // those with the most values first
	objects int
	// lists have one item each, and the last is empty.
	items  *values
	lists  int
	others []any
}

type fieldValues struct {
	name string
	*values
}

// dropped is the value of a field that is kept in no form.
var dropped = &values{others: []any{"x"}}

func (v *values) len() int {
	n := v.objects + v.lists + len(v.others)
	if v.meta != nil {
		n++
	}
	return n
}

// at makes one of the values.
func (v *values) at(i int) any {
	if v.meta != nil {
		if i == 0 {
			return runtime.DeepCopyJSON(v.meta)
		}
		i--
	}
	switch list := i - v.objects; {
	case list < 0:
		object := map[string]any{}
		for _, f := range v.fields {
			if f.len() <= i {
				break
			}
			object[f.name] = f.at(i)
		}
		return object
	case list == v.lists-1:
		return []any{}
	case list < v.lists:
		return []any{v.items.at(list)}
	default:
		return v.others[list-v.lists]
	}
}

// values are those that one field may have. Where the second schema is nil, it drops all fields.
func (m *maker) values(from, to *structural.Structural) *values {
	switch {
	case to == anything:
		return dropped // it keeps every value
	case to == nil && from == anything && m.open != nil:
		return m.open
	}
	v := &values{others: scalars(from)}
	open := from.XPreserveUnknownFields && from.Type != "object" || from == plain && to != plain // pruning leaves a list in what has no fields, too
	if open || from.Type == "object" {
		m.fields(v, from, to)
	}
	if from.Type == "array" || open && to != nil {
		of := itemsKept(from)
		if from == plain {
			of = plain
		}
		v.items = m.values(of, itemsKept(to))
		if hasNull := slices.Contains(v.items.others, any(nil)); !hasNull && v.items != dropped {
			v.items.others = append(slices.Clone(v.items.others), nil) // pruning leaves a null in a list, perhaps of when it was nullable
		}
		v.lists = v.items.len() + 1
	}
	if to == nil && from == anything {
		m.open = v
	}
	return v
}

// scalars are the values of a field without fields or items.
func scalars(s *structural.Structural) []any {
	of := others[s.Type]
	if of == nil {
		of = others["string"]
	}
	if s.Nullable || s == anything || s == plain { // pruning leaves a null that no schema is about
		return of
	}
	return of[:2]
}

var others = map[string][]any{"integer": {int64(1), int64(0), nil}, "number": {1.5, 0.0, nil}, "boolean": {true, false, nil}, "string": {"x", "", nil}}

// fields are those of the values that are objects.
func (m *maker) fields(v *values, from, to *structural.Structural) {
	names := m.namesOf(from, to)
	v.fields, v.objects = make([]fieldValues, 0, len(names)), 1
	for name := range names {
		of := m.valuesOf(from, to, name)
		v.fields, v.objects = append(v.fields, fieldValues{name, of}), max(v.objects, of.len()+1)
	}
	slices.SortFunc(v.fields, func(a, b fieldValues) int { return cmp.Compare(b.len(), a.len()) })
}

// namesOf are the names of fields that a value may have, and that one of two schemas has a word about.
func (m *maker) namesOf(from, to *structural.Structural) map[string]bool {
	names := map[string]bool{}
	for name := range from.Properties {
		names[name] = true
	}
	if from.XPreserveUnknownFields || from.AdditionalProperties != nil {
		names[m.unnamed] = true
		if to != nil {
			for name := range to.Properties {
				names[name] = true
			}
		}
	}
	if from.XEmbeddedResource || names[m.unnamed] && isEmbedded(to) {
		for _, name := range meta {
			names[name] = true
		}
	}
	return names
}

// valuesOf are the values of one of these fields.
func (m *maker) valuesOf(from, to *structural.Structural, name string) *values {
	before, _ := below(from, name)
	after, kept := below(to, name)
	isMeta := slices.Contains(meta, name) && (from.XEmbeddedResource || isEmbedded(to))
	switch {
	case isMeta && name == "metadata":
		all := &values{}
		if before != nil {
			all = new(*m.values(before, before))
		}
		all.meta = m.meta
		return all
	case isMeta || !kept:
		return dropped
	}
	return m.values(cmp.Or(before, anything), after)
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
