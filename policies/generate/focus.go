package generate

import (
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// focus leads to a field: names, [] for any item and {} for any key.
type focus []string

// String is the path as values are given for it.
func (f focus) String() string {
	path := ""
	for _, step := range f {
		switch step {
		case anyItem:
			path += "[*]"
		case anyKey:
			path = joined(path, "*")
		default:
			path = joined(path, step)
		}
	}
	return path
}

// isIn reports whether a value has the field.
func (f focus) isIn(value any) bool {
	if len(f) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		if f[0] != anyKey {
			inner, there := value[f[0]]
			return there && f[1:].isIn(inner)
		}
		for _, inner := range value {
			if f[1:].isIn(inner) {
				return true
			}
		}
	case []any:
		return f[0] == anyItem && slices.ContainsFunc(value, f[1:].isIn)
	}
	return false
}

const (
	anyItem = "[]"
	anyKey  = "{}"
	// mostPaths bounds how many fields of a schema are gone through one by one.
	mostPaths = 20_000
)

// pathsOf are the fields of a schema, but for metadata.
func pathsOf(s *structural.Structural) (all []focus) {
	var walk func(s *structural.Structural, at focus)
	walk = func(s *structural.Structural, at focus) {
		if len(all) >= mostPaths {
			return
		}
		leaf := true
		for _, name := range sortedKeys(s.Properties) {
			if len(at) == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
				continue
			}
			leaf = false
			inner := s.Properties[name]
			walk(&inner, append(slices.Clip(at), name))
		}
		if s.Items != nil {
			leaf = false
			walk(s.Items, append(slices.Clip(at), anyItem))
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			leaf = false
			walk(s.AdditionalProperties.Structural, append(slices.Clip(at), anyKey))
		}
		if leaf && len(at) > 0 {
			all = append(all, at)
		}
	}
	walk(s, nil)
	return all
}
