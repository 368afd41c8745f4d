package crdschema

import (
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/moult-dev/moult/policies/tally"
)

// Used is a field that objects have, with another value than it would have by default.
type Used struct {
	// Field is a pattern: * is any key of a map, and what a version keeps without a name; [*] is any item of a list.
	Field   string `json:"field"`
	Objects int64  `json:"objects"`
	// Examples name a few of the objects.
	Examples []string `json:"examples,omitempty"`
}

// Usage counts the fields that objects have as they are read at a version.
type Usage struct {
	version *Version
	used    tally.Tally[string, string]
}

// examples is how many objects are named of each field.
const examples = 3

// NewUsage begins with no objects.
func NewUsage(v *Version) *Usage {
	return &Usage{version: v, used: tally.Tally[string, string]{MaxExamples: examples}}
}

// Add counts the fields of an object, which is called so.
func (u *Usage) Add(object map[string]any, name string) {
	fields := &fieldsOf{version: u.version, object: object, found: map[string]bool{}}
	schema := u.version.Schema
	if schema == nil {
		schema = anything
	}
	for key, value := range object {
		if !slices.Contains(meta, key) {
			fields.field(schema, key, value, nil, "", false)
		}
	}
	var named []string
	if name != "" {
		named = append(named, name)
	}
	for field := range fields.found {
		u.used.Add(field, named...)
	}
}

// Fields are all that have been counted, by name.
func (u *Usage) Fields() []Used {
	used := []Used{}
	for _, s := range u.used.Sorts() {
		used = append(used, Used{Field: s.Key, Objects: s.Count, Examples: s.Examples})
	}
	slices.SortFunc(used, func(a, b Used) int { return strings.Compare(a.Field, b.Field) })
	return used
}

// fieldsOf collects the fields of one object.
type fieldsOf struct {
	version *Version
	object  map[string]any
	found   map[string]bool
}

// field collects one field of a value with a schema, and what is below it. The path is that of the object, the pattern that of
// the schema. A field that may be there by default is looked at more closely.
func (f *fieldsOf) field(schema *structural.Structural, key string, value any, path Path, pattern string, byDefault bool) {
	below, named := child(schema, key)
	at, as := path.to(key), join(pattern, key)
	switch {
	case named:
	case schema.AdditionalProperties != nil:
		as = anyKey(pattern)
		if below = schema.AdditionalProperties.Structural; below == nil {
			below = plain
		}
	default:
		as, below = anyKey(pattern), nil // kept without a name, as all that is in it
	}
	byDefault = byDefault || below != nil && below.Default.Object != nil
	if byDefault && f.version.IsDefault(f.object, at) {
		return
	}
	f.found[as] = true
	if below != nil {
		f.within(below, value, at, as, byDefault)
	}
}

// within collects what is below a value.
func (f *fieldsOf) within(schema *structural.Structural, value any, path Path, pattern string, byDefault bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			f.field(schema, key, inner, path, pattern, byDefault)
		}
	case []any:
		of := schema.Items
		if of == nil {
			of = anything
		}
		for i, inner := range value {
			f.within(of, inner, path.to(i), pattern+"[*]", byDefault)
		}
	}
}

// Uses finds how many objects have a field, which may be a pattern of Lacking, and some of them. Fields that the version does
// not name are counted together with all that is in them, so there may be fewer.
func Uses(all []Used, field string) (objects int64, named []string) {
	path := steps(field)
	for _, used := range all {
		pattern := steps(used.Field)
		isAny := pattern[len(pattern)-1] == "*" && len(pattern) <= len(path) && matches(pattern, path[:len(pattern)])
		if (used.Field == field || isAny) && used.Objects > objects {
			objects, named = used.Objects, used.Examples
		}
	}
	return objects, named
}
