package crdschema

import (
	"fmt"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"github.com/moult-dev/moult/policies/unpacking"
)

// MostFilled is how much the defaults of a version may add to one object, in bytes of memory. What they add is stored with the object, for
// which etcd takes 1.5 MiB.
const MostFilled = 16 << 20

// MostCompared is how much an object may take that is compared with itself at another version, in bytes of memory: both are held. An
// ordinary one of 1.5 MiB takes half as much.
const MostCompared = 32 << 20

// TooLarge is the error of an object that takes too much, itself or with the defaults of a version.
type TooLarge struct {
	Version string // empty for itself
	Most    int64  // that they may add, or that it may take, in bytes
}

func (e *TooLarge) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("the object takes more than %d MiB of memory, mostly for lists and mappings", e.Most>>20)
	}
	return fmt.Sprintf("the defaults of %s would make the object larger by more than %d MiB", e.Version, e.Most>>20)
}

// Defaults are those of the schema of a version. The tenant who writes an object decides how often they are filled in, and defaults in the
// items of a default multiply. So what they add is counted before any is made.
type Defaults struct {
	version string
	schema  *structural.Structural
	adds    *addition
}

// DefaultsOf counts what the defaults of a schema take. The error is a *TooLarge if they alone take too much.
func DefaultsOf(schema *structural.Structural, version string) (*Defaults, error) {
	all := int64(0)
	d := &Defaults{version, schema, additionOf(schema, &all)}
	if all > MostFilled {
		return nil, &TooLarge{version, MostFilled}
	}
	return d, nil
}

// Add is how many bytes of memory the defaults add to an object.
func (d *Defaults) Add(object map[string]any) int64 {
	if d == nil {
		return 0
	}
	return d.adds.to(object)
}

// Fit is a *TooLarge if there is no memory for an object with the defaults.
func (d *Defaults) Fit(object map[string]any) error {
	if d.Add(object) > MostFilled {
		return &TooLarge{d.version, MostFilled}
	}
	return nil
}

// Fill fills in defaults, if they Fit.
func (d *Defaults) Fill(object map[string]any) error {
	err := d.Fit(object)
	if d != nil && err == nil {
		defaulting.Default(object, d.schema)
	}
	return err
}

// addition is what defaults add at one place of a schema, nil if that is nothing. It follows Default of
// k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting.
type addition struct {
	hasDefault, nullable bool
	whole                int64 // what the default of the place takes, with those that are filled into it
	fields               map[string]*addition
	others, items        *addition
}

// boundless is more than any object takes. Sums of it do not overflow.
const boundless = 1 << 36

// textTakes is what a value takes beside its text.
const textTakes = 16

// additionOf counts each default of a schema once, from the leaves to the root, and adds them up.
func additionOf(s *structural.Structural, all *int64) *addition {
	if s == nil {
		return nil
	}
	a := &addition{hasDefault: s.Default.Object != nil, nullable: s.Nullable, items: additionOf(s.Items, all)}
	for name := range s.Properties {
		field := s.Properties[name]
		if of := additionOf(&field, all); of != nil {
			if a.fields == nil {
				a.fields = map[string]*addition{}
			}
			a.fields[name] = of
		}
	}
	if s.AdditionalProperties != nil {
		a.others = additionOf(s.AdditionalProperties.Structural, all)
	}
	if a.hasDefault {
		a.whole = min(textTakes+unpacking.SizeOf(s.Default.Object)+a.to(s.Default.Object), boundless)
		*all = min(*all+a.whole, boundless)
	}
	if !a.hasDefault && a.items == nil && a.others == nil && a.fields == nil {
		return nil
	}
	return a
}

// to is what is added to a value at the place.
func (a *addition) to(value any) (n int64) {
	if a == nil {
		return 0
	}
	switch value := value.(type) {
	case map[string]any:
		missing := 0
		for name, field := range a.fields {
			if _, there := value[name]; !there && field.hasDefault {
				missing++
				n += field.whole
			}
		}
		n += unpacking.SizeOfFields(len(value)+missing) - unpacking.SizeOfFields(len(value))
		for name, inner := range value {
			of, named := a.fields[name]
			if !named {
				of = a.others
			}
			n += of.at(inner)
		}
	case []any:
		for _, inner := range value {
			n += a.items.at(inner)
		}
	}
	return min(n, boundless)
}

// at is what is added where a value is: to it, or in the place of a null.
func (a *addition) at(value any) int64 {
	if a != nil && value == nil && !a.nullable {
		return a.whole
	}
	return a.to(value)
}

// below is the place of what lies at a path.
func (a *addition) below(p Path) *addition {
	for _, step := range p {
		if a == nil {
			return nil
		}
		name, isName := step.(string)
		of, named := a.fields[name]
		switch {
		case !isName:
			a = a.items
		case named:
			a = of
		default:
			a = a.others
		}
	}
	return a
}
