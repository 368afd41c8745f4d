// Package templates knows which methods a template may call in a released program. There, Go's template engine knows no others,
// so that the linker can drop them: docs/decisions/0015-what-the-programs-weigh.md.
package templates

import (
	_ "embed" // the names
	"maps"
	"reflect"
	"slices"
	"strings"
)

//go:embed methods.txt
var kept string

// Missing are the methods that templates can reach and that methods.txt does not name: those of the types of these values, of
// their fields and elements, and of what functions and methods return.
func Missing(roots ...any) []string {
	found, seen := map[string]bool{}, map[reflect.Type]bool{}
	var reach func(reflect.Type)
	reach = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() { //nolint:exhaustive // the others hold nothing
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			reach(t.Elem())
		case reflect.Map:
			reach(t.Key())
			reach(t.Elem())
		case reflect.Func:
			for i := range t.NumOut() {
				reach(t.Out(i))
			}
		case reflect.Struct:
			for i := range t.NumField() {
				if field := t.Field(i); field.IsExported() || field.Anonymous {
					reach(field.Type)
				}
			}
		}
		if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer {
			t = reflect.PointerTo(t) // it has the methods of both
		}
		for i := range t.NumMethod() {
			found[t.Method(i).Name] = true
			reach(t.Method(i).Type)
		}
	}
	var look func(reflect.Value)
	look = func(v reflect.Value) {
		if !v.IsValid() {
			return
		}
		reach(v.Type())
		switch v.Kind() { //nolint:exhaustive // the others hold nothing whose type is unknown
		case reflect.Interface:
			look(v.Elem())
		case reflect.Map:
			for _, key := range v.MapKeys() {
				look(v.MapIndex(key))
			}
		case reflect.Slice:
			for i := range v.Len() {
				look(v.Index(i))
			}
		}
	}
	for _, root := range roots {
		look(reflect.ValueOf(root))
	}
	for _, name := range strings.Fields(kept) {
		delete(found, name)
	}
	return slices.Sorted(maps.Keys(found))
}
