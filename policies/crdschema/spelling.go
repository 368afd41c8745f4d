package crdschema

import (
	"fmt"
	"time"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantity is the pattern that controller-gen gives to fields of the type resource.Quantity.
// https://github.com/kubernetes-sigs/controller-tools/blob/main/pkg/crd/known_types.go
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// Respelled reports whether the version's schema says that two values at a path are the same, however they are written.
// These are quantities, such as 1000m and 1, and moments, such as 10:00:00+01:00 and 09:00:00Z of one day. Programs in
// Go write such values in their own way.
func (v *Version) Respelled(p Path, before, after any) bool {
	schema := SchemaAt(v.Schema, p)
	switch {
	case schema == nil || schema.ValueValidation == nil:
		return false
	case schema.XIntOrString && schema.ValueValidation.Pattern == quantity:
		was, err := resource.ParseQuantity(fmt.Sprint(before))
		is, other := resource.ParseQuantity(fmt.Sprint(after))
		return err == nil && other == nil && was.Cmp(is) == 0
	case schema.ValueValidation.Format == "date-time":
		was, err := time.Parse(time.RFC3339, fmt.Sprint(before))
		is, other := time.Parse(time.RFC3339, fmt.Sprint(after))
		return err == nil && other == nil && was.Equal(is)
	}
	return false
}

// SchemaAt is the schema of what lies at a path; nil if the path leads out of it.
func SchemaAt(s *structural.Structural, p Path) *structural.Structural {
	for _, step := range p {
		switch step := step.(type) {
		case int:
			s = items(s)
		case string:
			if named, found := child(s, step); found {
				s = named
			} else if s != nil && s.AdditionalProperties != nil {
				s = s.AdditionalProperties.Structural
			} else {
				s = nil
			}
		}
	}
	return s
}

// along is a schema without what it says of fields beside a path.
func along(s *structural.Structural, p Path) *structural.Structural {
	if s == nil || len(p) == 0 {
		return s
	}
	alone := *s
	alone.Properties = nil
	name, isName := p[0].(string)
	field, named := child(s, name)
	switch {
	case !isName:
		alone.Items = along(s.Items, p[1:])
	case named:
		alone.Properties = map[string]structural.Structural{name: *along(field, p[1:])}
	case s.AdditionalProperties != nil:
		others := *s.AdditionalProperties
		others.Structural = along(others.Structural, p[1:])
		alone.AdditionalProperties = &others
	}
	return &alone
}
