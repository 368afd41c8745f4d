package crddiff

import (
	"iter"
	"regexp"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Schemas beyond these are not compared field by field. The deepest and the largest in the field have 30 levels and
// 20,000 schemas; what no API server would store cannot exhaust us either.
const (
	mostLevels  = 100
	mostSchemas = 200_000
)

// whole is the path of the object itself.
const whole = "."

// tree is the structural part of a schema, by path.
type tree map[string]node

type node struct {
	*schema
	parent string // a path; empty for the object itself
	// required reports whether the parent asks for it.
	required bool
}

// treeOf is empty for no schema. The schema has to be within bounds.
func treeOf(s *schema) tree {
	t := tree{}
	if s != nil {
		t.grow(s, whole, "")
	}
	return t
}

// Fields are those of a schema, by the paths that changes have.
func Fields(s *apiextensionsv1.JSONSchemaProps) map[string]*apiextensionsv1.JSONSchemaProps {
	fields := map[string]*schema{}
	for path, n := range treeOf(s) {
		fields[path] = n.schema
	}
	delete(fields, whole)
	return fields
}

func (t tree) grow(s *schema, path, parent string) {
	t[path] = node{schema: s, parent: parent}
	for name, property := range s.Properties {
		at := join(path, name)
		t.grow(&property, at, path)
		if slices.Contains(s.Required, name) {
			grown := t[at]
			grown.required = true
			t[at] = grown
		}
	}
	if items := s.Items; items != nil {
		if items.Schema != nil {
			t.grow(items.Schema, each(path, "[*]"), path)
		}
		for i := range items.JSONSchemas {
			t.grow(&items.JSONSchemas[i], each(path, "["+strconv.Itoa(i)+"]"), path)
		}
	}
	if values := s.AdditionalProperties; values != nil && (values.Allows || values.Schema != nil) {
		if values.Schema == nil {
			t[each(path, "{*}")] = node{schema: &schema{XPreserveUnknownFields: new(true)}, parent: path}
			return
		}
		t.grow(values.Schema, each(path, "{*}"), path)
	}
}

// below counts, for each path, the fields under it, each with all that is under it.
func (t tree) below() map[string]int {
	count := map[string]int{}
	for _, n := range t {
		for ; n.parent != ""; n = t[n.parent] {
			count[n.parent]++
		}
	}
	return count
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// join is the path of a field in an object. Names that a path could not be read with are put in quotation marks.
func join(path, name string) string {
	if !plain.MatchString(name) {
		return each(path, "["+strconv.Quote(name)+"]")
	}
	if path == whole {
		return name
	}
	return path + "." + name
}

func each(path, items string) string {
	if path == whole {
		return items
	}
	return path + items
}

// within reports whether a schema is small enough to be compared.
func within(s *schema) bool {
	left := mostSchemas
	return fits(s, mostLevels, &left)
}

func fits(s *schema, levels int, left *int) bool {
	if s == nil {
		return true
	}
	if *left--; levels == 0 || *left < 0 {
		return false
	}
	for part := range parts(s) {
		if !fits(part, levels-1, left) {
			return false
		}
	}
	return true
}

// parts are all schemas directly inside of a schema, in no particular order.
func parts(s *schema) iter.Seq[*schema] {
	return func(yield func(*schema) bool) {
		for _, some := range [][]schema{s.AllOf, s.AnyOf, s.OneOf} {
			for i := range some {
				if !yield(&some[i]) {
					return
				}
			}
		}
		for _, some := range []map[string]schema{s.Properties, s.PatternProperties, s.Definitions} {
			for _, part := range some {
				if !yield(&part) {
					return
				}
			}
		}
		for _, part := range odd(s) {
			if !yield(part) {
				return
			}
		}
	}
}

// odd are those of the parts that stand behind a pointer; some are nil.
func odd(s *schema) []*schema {
	some := []*schema{s.Not}
	if s.Items != nil {
		some = append(some, s.Items.Schema)
		for i := range s.Items.JSONSchemas {
			some = append(some, &s.Items.JSONSchemas[i])
		}
	}
	if s.AdditionalProperties != nil {
		some = append(some, s.AdditionalProperties.Schema)
	}
	if s.AdditionalItems != nil {
		some = append(some, s.AdditionalItems.Schema)
	}
	for _, dependency := range s.Dependencies {
		some = append(some, dependency.Schema)
	}
	return some
}

// alone is a schema without its parts, but for those that have no path of their own.
func alone(s *schema) schema {
	own := *s
	own.Properties, own.Items = nil, nil
	if values := own.AdditionalProperties; values != nil && (values.Allows || values.Schema != nil) {
		own.AdditionalProperties = nil
	}
	return own
}
