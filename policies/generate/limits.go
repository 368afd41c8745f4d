package generate

import (
	"reflect"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// node is a schema, with what is said of its values beside it, by an allOf or a branch of an anyOf further up.
type node struct {
	schema *structural.Structural
	beside []structural.NestedValueValidation
}

// limits are all that is said of a value, put together.
type limits struct {
	minimum, maximum                                               *float64
	above, beneath                                                 bool // exclusive
	minLength, maxLength, minItems, maxItems, minFields, maxFields *int64
	multipleOf                                                     *float64
	patterns                                                       []string
	enum                                                           []any
	format                                                         string
	required, forbidden                                            []string
	nested                                                         []structural.NestedValueValidation
}

// limitsOf chooses a branch where there are several: one that has the field that the object is about, if there is one.
func (g *Generator) limitsOf(n node, about focus) limits {
	var l limits
	if n.schema.ValueValidation != nil {
		g.add(&l, n.schema.ValueValidation, about)
	}
	for i := range n.beside {
		l.nested = append(l.nested, n.beside[i])
		g.add(&l, &n.beside[i].ValueValidation, about)
	}
	return l
}

func (g *Generator) add(l *limits, v *structural.ValueValidation, about focus) {
	l.minimum, l.above = atLeastOf(l.minimum, v.Minimum), l.above || v.ExclusiveMinimum
	l.maximum, l.beneath = atMostOf(l.maximum, v.Maximum), l.beneath || v.ExclusiveMaximum
	l.minLength, l.maxLength = atLeastOf(l.minLength, v.MinLength), atMostOf(l.maxLength, v.MaxLength)
	l.minItems, l.maxItems = atLeastOf(l.minItems, v.MinItems), atMostOf(l.maxItems, v.MaxItems)
	l.minFields, l.maxFields = atLeastOf(l.minFields, v.MinProperties), atMostOf(l.maxFields, v.MaxProperties)
	if v.MultipleOf != nil {
		l.multipleOf = v.MultipleOf
	}
	if v.Pattern != "" {
		l.patterns = append(l.patterns, v.Pattern)
	}
	if v.Format != "" {
		l.format = v.Format
	}
	l.among(v.Enum)
	l.required = append(l.required, v.Required...)
	l.forbid(v.Not)
	for i := range v.AllOf {
		g.branch(l, &v.AllOf[i], about)
	}
	if len(v.AnyOf) > 0 {
		g.branch(l, &v.AnyOf[g.branchOf(v.AnyOf, about)], about)
	}
	if len(v.OneOf) > 0 {
		chosen := g.branchOf(v.OneOf, about)
		for i := range v.OneOf {
			if i != chosen && len(v.OneOf[i].Required) == 1 {
				l.forbidden = append(l.forbidden, v.OneOf[i].Required...)
			}
		}
		g.branch(l, &v.OneOf[chosen], about)
	}
}

func (g *Generator) branch(l *limits, v *structural.NestedValueValidation, about focus) {
	l.nested = append(l.nested, *v)
	g.add(l, &v.ValueValidation, about)
}

// branchOf is one that asks for the field that the object is about, or any.
func (g *Generator) branchOf(all []structural.NestedValueValidation, about focus) int {
	if len(about) > 0 {
		if i := slices.IndexFunc(all, func(v structural.NestedValueValidation) bool { return slices.Contains(v.Required, about[0]) }); i >= 0 {
			return i
		}
	}
	return int(g.below(int64(len(all))))
}

// among leaves those values that all enums have.
func (l *limits) among(enum []structural.JSON) {
	if enum == nil {
		return
	}
	var both []any
	for _, value := range enum {
		if l.enum == nil || slices.ContainsFunc(l.enum, func(other any) bool { return reflect.DeepEqual(other, value.Object) }) {
			both = append(both, value.Object)
		}
	}
	l.enum = both
}

// forbid leaves out fields that must not be there.
func (l *limits) forbid(v *structural.NestedValueValidation) {
	if v == nil {
		return
	}
	if len(v.Required) == 1 {
		l.forbidden = append(l.forbidden, v.Required...)
	}
	for i := range v.AnyOf {
		l.forbid(&v.AnyOf[i])
	}
}

// of is what is said of a field, or of the items.
func (l *limits) of(field string) (all []structural.NestedValueValidation) {
	for i := range l.nested {
		switch inner, named := l.nested[i].Properties[field]; {
		case field == anyItem && l.nested[i].Items != nil:
			all = append(all, *l.nested[i].Items)
		case named:
			all = append(all, inner)
		case field == anyKey && l.nested[i].AdditionalProperties != nil:
			all = append(all, *l.nested[i].AdditionalProperties)
		}
	}
	return all
}

func atLeastOf[N int64 | float64](a, b *N) *N {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func atMostOf[N int64 | float64](a, b *N) *N {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
