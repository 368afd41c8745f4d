package fieldownership

import (
	"errors"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

var errNoItem = errors.New("the list has several items with the same keys there, or none")

// regroup finds the fields of a claim on an object that nothing converts. Each is in the same place, which has another
// path where the other version divides a list or map otherwise.
func (p *pair) regroup(c *claim) {
	if p.err != nil {
		c.result.Lost, c.result.Why = c.owned, p.err
		return
	}
	for path := range paths(c.owned) {
		if !p.before.has(path) {
			continue // it needs no owner
		}
		fields, found := p.otherwise(path)
		if !found {
			c.result.Lost.Insert(path)
			c.result.Why = errNoItem
			continue
		}
		c.result.Fields = c.result.Fields.Union(fields)
	}
}

// otherwise are the fields at the other version that are in the place of a path. What is in an atomic list or map is
// all of it, and what is atomic is all that it holds. Nothing is found if an item has no path of its own.
func (p *pair) otherwise(path fieldpath.Path) (fields *fieldpath.Set, found bool) {
	var place fieldpath.Path
	var before any = p.before.object.Object
	for _, element := range path {
		there, found := p.element(before, element, place)
		if !found {
			return nil, false
		}
		before, _ = step(before, element)
		place = append(place, there)
		if p.after.atomic(place) {
			return fieldpath.NewSet(place.Copy()), true
		}
	}
	if !p.before.atomic(path) {
		return fieldpath.NewSet(place), true
	}
	return p.after.from(place), true
}

// element is what an element of a path, which leads on from a value, is called in
// a place at the other version.
func (p *pair) element(from any, element fieldpath.PathElement, place fieldpath.Path) (fieldpath.PathElement, bool) {
	if element.FieldName != nil {
		return element, true
	}
	items, _ := from.([]any)
	after, _ := at(p.after.object.Object, place)
	list, _ := after.([]any) // the same items in the same order
	index := -1
	for i, item := range items {
		if i < len(list) && names(element, item) {
			if index >= 0 {
				return element, false
			}
			index = i
		}
	}
	if index < 0 {
		return element, false
	}
	for path := range paths(below(p.after.fields, place)) {
		if len(path) == 1 && names(path[0], list[index]) {
			return path[0], true
		}
	}
	return element, false
}

// names reports whether an element of a path is about an item of a list.
func names(element fieldpath.PathElement, item any) bool {
	return element.Key != nil && hasKey(item, *element.Key) || element.Value != nil && value.Equals(*element.Value, value.NewValueInterface(item))
}
