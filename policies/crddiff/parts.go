package crddiff

import "iter"

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
