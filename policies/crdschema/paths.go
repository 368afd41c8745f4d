package crdschema

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
)

// Path leads to a value: names and indices. It is written as the API server writes unknown fields, such as
// spec.items[0].name. A name that could be taken for something else is quoted: metadata.labels["example.com/team"].
type Path []any

func (p Path) String() string { return p.text(names{}) }

func (p Path) text(known names) string {
	text := make([]byte, 0, 8*len(p))
	for _, step := range p {
		switch step := step.(type) {
		case int:
			text = fmt.Appendf(text, "[%d]", step)
		case string:
			text = joined(text, known.short(step))
		}
	}
	return string(text)
}

// Last is the last name or index, nil if there is none.
func (p Path) Last() any {
	if len(p) == 0 {
		return nil
	}
	return p[len(p)-1]
}

func (p Path) to(step any) Path { return append(slices.Clip(p), step) }

// Change is what is not the same in two readings of an object, as deep down as it can be told.
type Change struct {
	Lost, Changed, Added []Path
}

// ChangeOf compares two readings.
func ChangeOf(before, after map[string]any) (d Change) {
	keep := func(in *[]Path) func(Path) {
		return func(p Path) { *in = append(*in, slices.Clone(p)) }
	}
	Compare(before, after, keep(&d.Lost), keep(&d.Changed), keep(&d.Added))
	return d
}

// Compare hands over what ChangeOf keeps. A path is good until the next one comes.
func Compare(before, after map[string]any, lost, changed, added func(Path)) {
	(&comparison{lost, changed, added}).values(nil, before, after)
}

// comparison hears of each path that is not the same in two readings. To keep those of one object would take as much as its depth times the
// number of its fields.
type comparison struct{ lost, changed, added func(Path) }

func (c *comparison) values(here Path, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			c.fields(here, was, is)
			return
		}
	case []any:
		if is, ok := after.([]any); ok {
			c.items(here, was, is)
			return
		}
	}
	if !same(before, after) {
		c.changed(here)
	}
}

func (c *comparison) fields(here Path, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if is, there := after[name]; there {
			c.values(append(here, name), before[name], is)
		} else {
			c.lost(append(here, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[name]; !there {
			c.added(append(here, name))
		}
	}
}

func (c *comparison) items(here Path, before, after []any) {
	for i := range before {
		if i < len(after) {
			c.values(append(here, i), before[i], after[i])
		} else {
			c.lost(append(here, i))
		}
	}
	for i := len(before); i < len(after); i++ {
		c.added(append(here, i))
	}
}

// same compares values that are neither maps nor lists. A whole number is the same however it is written, and no other.
func same(a, b any) bool {
	if whole, ok := a.(int64); ok {
		if float, ok := b.(float64); ok {
			return equal(whole, float)
		}
	}
	if float, ok := a.(float64); ok {
		if whole, ok := b.(int64); ok {
			return equal(whole, float)
		}
	}
	return reflect.DeepEqual(a, b)
}

// equal is exact: a large float64 stands for more than one int64.
func equal(whole int64, float float64) bool {
	return float >= -(1<<63) && float < 1<<63 && math.Trunc(float) == float && int64(float) == whole
}

// only is an object that has nothing but a value at a path.
func only(p Path, value any) map[string]any {
	for _, step := range slices.Backward(p) {
		if name, ok := step.(string); ok {
			value = map[string]any{name: value}
		} else {
			value = []any{value}
		}
	}
	object, _ := value.(map[string]any)
	return object
}

// Each is a value and all inside of it, each after what is around it.
func Each(value any) iter.Seq2[Path, any] {
	return func(yield func(Path, any) bool) { each(nil, value, yield) }
}

func each(at Path, value any, yield func(Path, any) bool) bool {
	going := yield(at, value)
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			going = going && each(at.to(name), value[name], yield)
		}
	case []any:
		for i := range value {
			going = going && each(at.to(i), value[i], yield)
		}
	}
	return going
}

// IsEmpty reports whether a value is one that many programs do not tell from none. An object of nothing but such is one.
func IsEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, inner := range v {
			if !IsEmpty(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// At is what lies at a path; nil if nothing does.
func At(value any, p Path) any {
	for _, step := range p {
		value, _ = inner(value, step)
	}
	return value
}

// Put puts a value where something is, and into a map also where nothing is.
func Put(object any, at Path, value any) {
	last := len(at) - 1
	switch parent := At(object, at[:last]).(type) {
	case map[string]any:
		if name, is := at[last].(string); is {
			parent[name] = value
		}
	case []any:
		if i, is := at[last].(int); is && i < len(parent) {
			parent[i] = value
		}
	}
}

func inner(value, step any) (found any, there bool) {
	switch step := step.(type) {
	case string:
		fields, _ := value.(map[string]any)
		found, there = fields[step]
	case int:
		if items, _ := value.([]any); step < len(items) {
			return items[step], true
		}
	}
	return found, there
}
