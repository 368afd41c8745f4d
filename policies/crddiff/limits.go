package crddiff

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/moult-dev/moult/policies/finding"
)

// limits: how large, how long and how many.
func (f field) limits() {
	a, b := f.a, f.b
	upper(f, "maximum", a.Maximum, b.Maximum)
	lower(f, "minimum", a.Minimum, b.Minimum)
	upper(f, "maxLength", a.MaxLength, b.MaxLength)
	lower(f, "minLength", positive(a.MinLength), positive(b.MinLength))
	upper(f, "maxItems", a.MaxItems, b.MaxItems)
	lower(f, "minItems", positive(a.MinItems), positive(b.MinItems))
	upper(f, "maxProperties", a.MaxProperties, b.MaxProperties)
	lower(f, "minProperties", positive(a.MinProperties), positive(b.MinProperties))
	f.exclusive("maximum", a.ExclusiveMaximum, b.ExclusiveMaximum)
	f.exclusive("minimum", a.ExclusiveMinimum, b.ExclusiveMinimum)
	limit(f, "multipleOf", a.MultipleOf, b.MultipleOf, func(_, _ float64) bool { return true }) // another one allows other values
}

// positive: nothing is shorter than 0.
func positive(least *int64) *int64 {
	if least != nil && *least <= 0 {
		return nil
	}
	return least
}

// upper is a limit that is tighter the lower it is.
func upper[T cmp.Ordered](f field, name string, from, to *T) {
	limit(f, name, from, to, func(a, b T) bool { return b < a })
}

// lower is a limit that is tighter the higher it is.
func lower[T cmp.Ordered](f field, name string, from, to *T) {
	limit(f, name, from, to, func(a, b T) bool { return b > a })
}

func limit[T cmp.Ordered](f field, name string, from, to *T, tighter func(a, b T) bool) {
	switch {
	case from == nil && to == nil, from != nil && to != nil && cmp.Compare(*from, *to) == 0:
	case from == nil, to != nil && tighter(*from, *to):
		f.add(LimitTightened, finding.Error, said(name, from), said(name, to), stricter)
	default:
		f.add(LimitLoosened, finding.Info, said(name, from), said(name, to), "clients have to accept it")
	}
}

func said[T any](name string, limit *T) string {
	if limit == nil {
		return ""
	}
	if number, ok := any(*limit).(float64); ok {
		return name + " " + strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprintf("%s %v", name, *limit)
}

// exclusive: whether the limit itself is allowed.
func (f field) exclusive(name string, was, is bool) {
	switch {
	case !was && is:
		f.add(LimitTightened, finding.Error, name+" allowed", name+" not allowed", stricter)
	case was && !is:
		f.add(LimitLoosened, finding.Info, name+" not allowed", name+" allowed", "clients have to accept it")
	}
}
