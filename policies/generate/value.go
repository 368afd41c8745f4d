package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// value is one that a schema describes; false if there is none. What the object is about is in it.
func (g *Generator) value(n node, about focus, path string, depth int) (any, bool) {
	g.left--
	if given := g.given[path]; len(given) > 0 {
		return copied(pick(g, given)), true
	}
	s := n.schema
	if s == nil {
		return g.anything(depth), true
	}
	l := g.limitsOf(n, about)
	if s.Nullable && len(about) == 0 && !g.full && g.one1in(12) {
		return nil, true
	}
	if len(l.enum) > 0 {
		return copied(pick(g, l.enum)), true
	}
	kind := s.Type
	if s.XIntOrString {
		kind = pick(g, []string{"integer", "string"})
		if len(l.patterns) > 0 {
			kind = "string"
		}
	}
	switch kind {
	case "string":
		return g.text(l, s.XIntOrString)
	case "integer":
		return g.integer(l)
	case "number":
		return g.number(l)
	case "boolean":
		return g.one1in(2), true
	case "array":
		return g.list(s, l, about, path, depth)
	case "object":
		return g.fields(s, l, about, path, depth)
	}
	return g.anything(depth), true
}

// anything is a value of which nothing is said.
func (g *Generator) anything(depth int) any {
	switch g.below(5) {
	case 0:
		return int64(3)
	case 1:
		return true
	case 2:
		if depth < deepest {
			return map[string]any{"free": g.anything(depth + 1)}
		}
	case 3:
		if depth < deepest {
			return []any{g.anything(depth + 1)}
		}
	}
	return pick(g, vocabulary)
}

// fields are those of an object or a map.
func (g *Generator) fields(s *structural.Structural, l limits, about focus, path string, depth int) (any, bool) {
	made := map[string]any{}
	if s.XEmbeddedResource {
		made["apiVersion"], made["kind"], made["metadata"] = "v1", "ConfigMap", map[string]any{"name": "embedded"}
	}
	names := sortedKeys(s.Properties)
	for _, name := range names {
		if path == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) || made[name] != nil {
			continue
		}
		var inner focus
		isAbout, isRequired := len(about) > 0 && about[0] == name, slices.Contains(l.required, name)
		switch {
		case isAbout:
			inner = about[1:]
		case isRequired:
		case slices.Contains(l.forbidden, name), !g.takes(len(names), depth):
			continue
		}
		property := s.Properties[name]
		value, ok := g.value(node{&property, l.of(name)}, inner, joined(path, name), depth+1)
		switch {
		case ok:
			made[name] = value
		case isRequired:
			return nil, false
		}
	}
	return g.others(s, l, about, path, depth, made)
}

// others are fields that the schema does not name, as many as there have to be.
func (g *Generator) others(s *structural.Structural, l limits, about focus, path string, depth int, made map[string]any) (any, bool) {
	isAbout := len(about) > 0 && about[0] == anyKey
	var inner *structural.Structural
	switch {
	case s.AdditionalProperties != nil && (s.AdditionalProperties.Structural != nil || s.AdditionalProperties.Bool):
		inner = s.AdditionalProperties.Structural
	case s.XPreserveUnknownFields && (len(s.Properties) == 0 || g.one1in(4)):
	default:
		return made, g.enough(s, l, path, depth, made)
	}
	n := g.below(3)
	if isAbout || g.full {
		n = max(n, 1)
	}
	if l.minFields != nil {
		n = max(n, *l.minFields-int64(len(made)))
	}
	if l.maxFields != nil {
		n = min(n, *l.maxFields-int64(len(made)))
	}
	for i := range min(n, most) {
		var below focus
		if isAbout && i == 0 {
			below = about[1:]
		}
		value, ok := g.value(node{inner, l.of(anyKey)}, below, joined(path, "*"), depth+1)
		if !ok {
			return made, l.minFields == nil
		}
		made[g.key(i)] = value
	}
	return made, true
}

// enough adds fields until there are as many as there have to be.
func (g *Generator) enough(s *structural.Structural, l limits, path string, depth int, made map[string]any) bool {
	for _, name := range sortedKeys(s.Properties) {
		if l.minFields == nil || int64(len(made)) >= *l.minFields {
			break
		}
		if _, there := made[name]; there {
			continue
		}
		property := s.Properties[name]
		if value, ok := g.value(node{&property, l.of(name)}, nil, joined(path, name), depth+1); ok {
			made[name] = value
		}
	}
	return true // if not, it is invalid, and that is seen
}

// takes reports whether an optional field is made that the object is not about.
func (g *Generator) takes(siblings, depth int) bool {
	if g.left <= 0 || depth > deepest {
		return false
	}
	return g.full || g.below(int64(max(siblings, 8))) < 4
}

// most is how many fields or items are made of those that have to be there.
const most = 200

func (g *Generator) list(s *structural.Structural, l limits, about focus, path string, depth int) (any, bool) {
	n := g.below(4)
	isAbout := len(about) > 0 && about[0] == anyItem
	if isAbout || g.full {
		n = max(n, 1)
	}
	if g.left <= 0 && !isAbout {
		n = 0
	}
	if l.minItems != nil {
		n = max(n, *l.minItems)
	}
	if l.maxItems != nil {
		n = min(n, *l.maxItems)
	}
	made, known := []any{}, map[string]bool{}
	for i := range min(n, most) {
		var inner focus
		if isAbout && i == 0 {
			inner = about[1:]
		}
		for range 8 { // until it is not there yet
			value, ok := g.value(node{s.Items, l.of(anyItem)}, inner, path+"[*]", depth+1)
			if !ok {
				break
			}
			id := identity(s, value, i)
			if known[id] {
				continue
			}
			known[id] = true
			made = append(made, value)
			break
		}
	}
	return made, l.minItems == nil || int64(len(made)) >= *l.minItems
}

// identity is what has to differ from item to item.
func identity(s *structural.Structural, value any, i int64) string {
	if s.XListType == nil || *s.XListType == "atomic" {
		return fmt.Sprint(i)
	}
	of := value
	if fields, is := value.(map[string]any); is && *s.XListType == "map" {
		var keys []any
		for _, key := range s.XListMapKeys {
			own := fields[key]
			if property := s.Items.Properties[key]; own == nil {
				own = property.Default.Object
			}
			keys = append(keys, own)
		}
		of = keys
	}
	raw, err := json.Marshal(of)
	if err != nil {
		return fmt.Sprint(i)
	}
	return string(raw)
}

func joined(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }
