package rollout

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
)

// Cluster is what one entry point applies.
type Cluster struct {
	// Name is the entry point.
	Name string
	// Units have names of their own.
	Units []Unit
	// Unseen is all that brings what is not among the objects of the units.
	Unseen []Source
}

// Unit is what one Kustomization or Application applies.
type Unit struct {
	// Name is namespace/name of By, or the entry point's.
	Name string
	// Tool is empty if it is not known who applies the unit.
	Tool optin.Tool
	// By is the Kustomization or Application, nil if Tool is empty.
	By *Object
	// Parent is the name of the unit that holds By, empty for the entry point.
	Parent string
	// Deliveries are what optin.DeliveriesOf reads in By.
	Deliveries []optin.Delivery
	Objects    []*Object
	// DependsOn are names of units, with Flux.
	DependsOn []string
	// Unseen: the unit applies more than its Objects.
	Unseen bool
	// Inputs are what else decides which objects the unit gets, and is not seen in them, by what a person would call it.
	Inputs map[string]string
}

// Object is one object, as it is applied.
type Object struct {
	*unstructured.Unstructured

	// At is where it stands, or a field of it. It may be nil.
	At func(fields ...string) finding.Place
}

// place is where an object or its field stands, as far as that is known.
func (o *Object) place(fields ...string) finding.Place {
	if o == nil || o.At == nil {
		return finding.Place{}
	}
	return o.At(fields...)
}

func (o *Object) is(group, kind string) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == group && gvk.Kind == kind
}

func (o *Object) isCRD() bool  { return o.is("apiextensions.k8s.io", "CustomResourceDefinition") }
func (o *Object) isGate() bool { return o.is("moult.dev", "VersionRemoval") }

// annotation is the value of an annotation or, since manifests may be anything, empty.
func (o *Object) annotation(key string) string { return o.text("metadata", "annotations", key) }

// at is the value of a field, nil if there is none.
func (o *Object) at(fields ...string) any {
	var value any = o.Object
	for _, field := range fields {
		around, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = around[field]
	}
	return value
}

func (o *Object) text(fields ...string) string {
	value, _ := o.at(fields...).(string)
	return value
}

func (o *Object) truth(fields ...string) bool {
	value, _ := o.at(fields...).(bool)
	return value
}

// texts are the strings of a list.
func (o *Object) texts(fields ...string) []string {
	list, _ := o.at(fields...).([]any)
	var found []string
	for _, item := range list {
		if value, ok := item.(string); ok {
			found = append(found, value)
		}
	}
	return found
}

// entries are the maps of a list.
func (o *Object) entries(fields ...string) []*Object {
	list, _ := o.at(fields...).([]any)
	var found []*Object
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			found = append(found, &Object{Unstructured: &unstructured.Unstructured{Object: entry}})
		}
	}
	return found
}
