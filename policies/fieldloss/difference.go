package fieldloss

import (
	"cmp"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// anything is the schema of a value of which nothing is known, and plain that of one without fields.
var (
	anything = &structural.Structural{Extensions: structural.Extensions{XPreserveUnknownFields: true}}
	plain    = &structural.Structural{}
)

// meta are the fields that every resource has, whether its schema names them or not.
var meta = []string{"apiVersion", "kind", "metadata"}

// difference collects the fields that pruning by one schema drops from what another one lets through. It follows the rules of
// pruning (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning, algorithm.go).
type difference struct{ paths []string }

// object compares what two schemas say of a value. One is nil where pruning has none: it drops every field then.
func (d *difference) object(from, to *structural.Structural, path string, resource bool) {
	if from == nil {
		from = plain
	}
	if from.Items != nil || from.XPreserveUnknownFields {
		d.items(from, to, path)
	}
	isMeta := func(name string) bool {
		return (resource || to != nil && to.XEmbeddedResource) && slices.Contains(meta, name)
	}
	for name, property := range from.Properties {
		if !isMeta(name) {
			d.field(&property, to, path, name)
		}
	}
	if from.XEmbeddedResource {
		for _, name := range meta {
			if _, named := from.Properties[name]; !named && !isMeta(name) {
				d.field(anything, to, path, name)
			}
		}
	}
	var others *structural.Structural // the schema of fields that from does not name
	switch {
	case from.XPreserveUnknownFields:
		others = anything
	case from.AdditionalProperties != nil:
		others = cmp.Or(from.AdditionalProperties.Structural, plain)
	default:
		return
	}
	if to != nil {
		for name := range to.Properties { // one of those others may be called so
			if _, named := from.Properties[name]; !named && !isMeta(name) {
				d.field(others, to, path, name)
			}
		}
	}
	d.others(others, to, path)
}

// field compares a field that the first schema has by name.
func (d *difference) field(property, to *structural.Structural, path, name string) {
	at := join(path, name)
	next, named := child(to, name)
	switch {
	case to == nil:
		d.paths = append(d.paths, at)
	case named:
		d.object(property, next, at, false)
	case to.XPreserveUnknownFields:
	case to.AdditionalProperties != nil:
		d.object(property, to.AdditionalProperties.Structural, at, false)
	default:
		d.paths = append(d.paths, at)
	}
}

// others compares fields that neither schema has by name.
func (d *difference) others(from, to *structural.Structural, path string) {
	at := anyKey(path)
	switch {
	case to == nil:
		d.paths = append(d.paths, at)
	case to.XPreserveUnknownFields:
	case to.AdditionalProperties == nil:
		d.paths = append(d.paths, at)
	default:
		d.object(from, to.AdditionalProperties.Structural, at, false)
	}
}

// items compares the items of lists.
func (d *difference) items(from, to *structural.Structural, path string) {
	of := from.Items
	switch {
	case of == nil: // any
		if items(to) != nil {
			d.object(anything, items(to), path+"[*]", false)
		}
	case to != nil && to.XPreserveUnknownFields && to.Items == nil:
	default:
		d.object(of, items(to), path+"[*]", false)
	}
}
