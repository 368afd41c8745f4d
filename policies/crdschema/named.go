package crdschema

import (
	"fmt"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Named are the fields that an object may lose if it is stored at a version that cannot be read, sorted, as patterns of
// Lacking: those that its managedFields name. A value at a field that the storage version lacks was last written
// through that version, or through one that has left the CRD since. A write through any other version would have
// dropped it. The API server records each such write in managedFields, with the names of the fields. They say nothing
// of values, so a field that has its default, or that has been dropped since, is named, too. Where managedFields do not
// tell all, every lacking field may be there.
func (f *Finder) Named(object map[string]any, entries []metav1.ManagedFieldsEntry, version string) (patterns []string, err error) {
	all, bytes := fieldpath.NewSet(), 0
	for _, entry := range entries {
		_, at, _ := strings.Cut(entry.APIVersion, "/")
		if f.versions[at] == nil {
			return f.Lacking(version), nil // since it has left the CRD, the API server has recorded nothing
		}
		if entry.FieldsV1 == nil {
			continue
		}
		if bytes += len(entry.FieldsV1.GetRawString()); bytes > longestFields {
			return f.Lacking(version), nil
		}
		owned := &fieldpath.Set{}
		if err := owned.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("the entry of %s in managedFields cannot be read: %w", entry.Manager, err)
		}
		all = all.Union(owned)
		if at != version {
			continue
		}
		named, err := f.named(owned, version)
		if err != nil {
			return nil, err
		}
		patterns = slices.Concat(patterns, named, f.nulls(object, owned, version))
	}
	if len(entries) == 0 || f.unowned(object, all) {
		return f.Lacking(version), nil
	}
	slices.Sort(patterns)
	return slices.Compact(patterns), nil
}

// longestFields is how many bytes of managedFields are read of one object. Any writer of the object can fill them, and the time
// to read them grows with the square of their number: 1.2 MB would take six seconds.
const longestFields = 128 << 10

// unowned is whether an object, as it is read at the storage version, has a field outside of status that no entry
// names. Then managedFields were cleared once, or an admission webhook writes what they do not record.
func (f *Finder) unowned(object map[string]any, owned *fieldpath.Set) bool {
	for name, value := range object {
		if slices.Contains(meta, name) || InStatus(name) {
			continue
		}
		if below, inner := owned.Children.Get(fieldpath.PathElement{FieldName: &name}); inner {
			fields, _ := value.(map[string]any)
			for key := range fields {
				if !has(below, key) && !f.to.IsDefault(object, Path{name, key}) {
					return true
				}
			}
		} else if !has(owned, name) && !f.to.IsDefault(object, Path{name}) {
			return true
		}
	}
	return false
}

// has is whether a set has a field, or something below it.
func has(set *fieldpath.Set, name string) bool {
	element := fieldpath.PathElement{FieldName: &name}
	_, inner := set.Children.Get(element)
	return inner || set.Members.Has(element)
}

// named are the lacking fields among some owned ones. An object that has just those is pruned as any other would be.
// Below an atomic list or map, which is owned as a whole, there may be every lacking field.
func (f *Finder) named(owned *fieldpath.Set, version string) (patterns []string, err error) {
	object := sketched(owned, unknownValue)
	if patterns, err = f.Lost(object, version); err != nil {
		return nil, err
	}
	lacking, v := f.Lacking(version), f.versions[version]
	owned.Leaves().Iterate(func(leaf fieldpath.Path) {
		path := pathOf(leaf)
		if !isAtomic(SchemaAt(v.Schema, path)) {
			return
		}
		whole := steps(v.pattern(path))
		for _, field := range lacking {
			if at := steps(field); len(at) > len(whole) && matches(whole, at[:len(whole)]) {
				patterns = append(patterns, field)
			}
		}
	})
	return patterns, nil
}

// nulls are the owned fields at which a default of the storage version takes the place of a null. The object is as it is read at
// the storage version: a value there that is not the default was no null.
func (f *Finder) nulls(object map[string]any, owned *fieldpath.Set, version string) (patterns []string) {
	v := f.versions[version]
	if v == f.to {
		return nil
	}
	known, err := v.Read(sketched(owned, nil))
	if err != nil {
		return f.Lacking(version)
	}
	stored, err := f.to.Read(known)
	if err != nil {
		return f.Lacking(version)
	}
	for _, path := range v.Missing(known, ChangeOf(known, stored)) {
		item := slices.ContainsFunc(path, func(step any) bool { _, is := step.(int); return is }) // which one is not known
		is := At(object, path)
		if !v.IsDefault(known, path) && (item || is == nil || equality.Semantic.DeepEqual(is, At(stored, path))) {
			patterns = append(patterns, v.pattern(path))
		}
	}
	return patterns
}

// isAtomic reports whether managedFields name nothing below a value. What has no schema may be.
func isAtomic(s *structural.Structural) bool {
	switch {
	case s == nil:
		return true
	case s.Type == "array":
		return s.XListType == nil || *s.XListType == "atomic"
	default:
		return s.XMapType != nil && *s.XMapType == "atomic"
	}
}

// unknownValue stands for a value that is not known. No schema has it as a default.
const unknownValue = "\x00"

// sketched is an object with the fields of a set, without its metadata. They all have one value.
func sketched(set *fieldpath.Set, value any) map[string]any {
	object, _ := sketch(set, value).(map[string]any)
	for _, name := range meta {
		delete(object, name)
	}
	return object
}

func sketch(set *fieldpath.Set, value any) any {
	fields, list := map[string]any{}, []any{}
	add := func(e fieldpath.PathElement, value any) {
		if e.FieldName != nil {
			fields[*e.FieldName] = value
			return
		}
		list = append(list, value)
	}
	set.Members.Iterate(func(e fieldpath.PathElement) {
		if _, inner := set.Children.Get(e); !inner {
			if add(e, value); e.FieldName == nil {
				list[len(list)-1] = unknownValue // an item that is null names none
			}
		}
	})
	set.Children.Iterate(func(e fieldpath.PathElement) {
		inner, _ := set.Children.Get(e)
		add(e, sketch(inner, value))
	})
	if len(list) > 0 {
		return list
	}
	return fields
}

func pathOf(path fieldpath.Path) (p Path) {
	for _, e := range path {
		if e.FieldName != nil {
			p = append(p, *e.FieldName)
			continue
		}
		p = append(p, 0)
	}
	return p
}
