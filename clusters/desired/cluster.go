package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/optin"
)

// Cluster is what one entry point amounts to.
type Cluster struct {
	// Name is the entry point as the caller called it.
	Name string
	// Units stand after the unit that applies them; the first is the entry point.
	Units []*Unit
	// Unseen is all that brings objects which are not among those of any unit.
	Unseen []Source
	// Findings are about what Flux and Argo CD are told.
	Findings []finding.Finding

	tree *repository.Tree
}

// Unit is what one Kustomization or Application applies.
type Unit struct {
	// Name is the namespace/name of By, or the entry point's if nothing here says who applies it.
	Name string
	// Tool is empty if nothing here says who applies the unit.
	Tool optin.Tool
	// By is the Kustomization or Application, nil if Tool is empty. It may be part of the unit itself.
	By *Object
	// Parent is the unit that holds By; nil for the entry point.
	Parent *Unit
	// Deliveries are By's sources, one for Flux.
	Deliveries []optin.Delivery
	// Dirs are the folders that were built, from the root of the repository.
	Dirs []string
	// Objects are all that was built, in the order of the build.
	Objects []*Object
	// DependsOn are the names of units that have to be ready before, with Flux.
	DependsOn []string
	// Prune: what vanishes from the unit is deleted from the cluster.
	Prune bool
	// Suspended: the tool does not look at the unit for now.
	Suspended bool
	// Pinned is the tag or commit that the unit is taken from, whatever is merged; empty if it follows a branch.
	Pinned string
	// Unseen says why some of what the unit applies is not among its Objects; empty if all of it is.
	Unseen string
	// Err is why the unit could not be built.
	Err error

	// Inputs are what else decides which objects the unit gets, and is not built into them: what a source leaves out, for
	// example. By what a person would call it, each stands for the same as long as it is the same.
	Inputs map[string]string

	// hidden is what of this repository decides about the objects that are not seen.
	hidden hidden
}

// Object is one object of a unit, as it would be applied.
type Object struct {
	*unstructured.Unstructured

	rendered *render.Object
	tree     *repository.Tree
	under    []string // the field of what was rendered that became this object
	file     string   // where it stands, if it was not rendered
	// variables: Flux puts values into it that cannot be known.
	variables bool
}

// At is where the object stands, or its field, or the innermost one around it that is there. It is empty for what comes
// from another repository. The first call for an object of a folder builds the folder once more.
func (o *Object) At(fields ...string) finding.Place {
	if o.rendered == nil {
		return finding.Place{File: o.file}
	}
	place := o.rendered.Place(append(slices.Clone(o.under), fields...)...)
	if place.Repo != "" || place.File == "" {
		return finding.Place{}
	}
	file := place.File
	if o.tree != nil {
		file = o.tree.Relative(file)
	}
	return finding.Place{File: file, Line: place.Line}
}

// objectsOf are those of a rendering.
func objectsOf(rendering *render.Rendering, t *repository.Tree) []*Object {
	objects := make([]*Object, len(rendering.Objects))
	for i, rendered := range rendering.Objects {
		objects[i] = &Object{Unstructured: rendered.Unstructured, rendered: rendered, tree: t}
	}
	return objects
}

// is tells whether an object is of a kind, in whichever version.
func (o *Object) is(group, kind string) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == group && gvk.Kind == kind
}

// at is the value of a field, nil if there is none. Manifests may be anything, so no field is taken for a map unseen.
func at(object *unstructured.Unstructured, fields ...string) any {
	var value any = object.Object
	for _, field := range fields {
		around, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = around[field]
	}
	return value
}

// text is the value of a field that holds one, empty if there is none.
func text(object *unstructured.Unstructured, fields ...string) string {
	value, _ := at(object, fields...).(string)
	return value
}

func truth(object *unstructured.Unstructured, fields ...string) bool {
	value, _ := at(object, fields...).(bool)
	return value
}

// entries of a list that are maps, each as an object of its own.
func entries(object *unstructured.Unstructured, fields ...string) []*unstructured.Unstructured {
	list, _ := at(object, fields...).([]any)
	var found []*unstructured.Unstructured
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			found = append(found, &unstructured.Unstructured{Object: entry})
		}
	}
	return found
}

// texts of a map.
func texts(object *unstructured.Unstructured, fields ...string) map[string]string {
	all, _ := at(object, fields...).(map[string]any)
	found := map[string]string{}
	for key, value := range all {
		if value, ok := value.(string); ok {
			found[key] = value
		}
	}
	return found
}
