package optin

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Tool applies manifests from Git.
type Tool string

const (
	// Flux is kustomize-controller.
	Flux Tool = "Flux"
	// ArgoCD is Argo CD.
	ArgoCD Tool = "Argo CD"
)

const fluxGroup = "kustomize.toolkit.fluxcd.io"

// Delivery is one folder that a Flux Kustomization or an Argo CD Application applies, and how.
type Delivery struct {
	Tool Tool
	// Object is the Kustomization, Application or ApplicationSet.
	Object *unstructured.Unstructured
	// Path is the folder, relative to the root of its repository; empty if it is none, as with a chart.
	Path string
	// Recurse: Argo CD takes the manifests of folders below, too.
	Recurse bool
	// Components, Patches and Labels are added to what lies in the folder.
	Components              []string
	IgnoreMissingComponents bool
	Patches                 []InlinePatch
	Labels                  map[string]string

	spec []string // the field that holds the settings
}

// InlinePatch is a patch in the tool's own object.
type InlinePatch struct {
	// Field is where it stands in the Delivery's Object.
	Field []string
	// Patch is a strategic merge patch or a JSON patch, as text.
	Patch string
	// Target has the fields of a Kustomize selector: group, version, kind, name, namespace, labelSelector and
	// annotationSelector. Nil if the patch says itself what it is for.
	Target map[string]string
}

// DeliveriesOf reads an object that applies folders: none if it is another object, several if it has several sources.
func DeliveriesOf(object *unstructured.Unstructured) []Delivery {
	switch gvk := object.GroupVersionKind(); {
	case gvk.Group == fluxGroup && gvk.Kind == "Kustomization":
		return []Delivery{flux(object)}
	case gvk.Group == "argoproj.io" && gvk.Kind == "Application":
		return argoCD(object, []string{"spec"})
	case gvk.Group == "argoproj.io" && gvk.Kind == "ApplicationSet":
		return argoCD(object, []string{"spec", "template", "spec"})
	}
	return nil
}

func flux(object *unstructured.Unstructured) Delivery {
	d := Delivery{Tool: Flux, Object: object, spec: []string{"spec"}}
	d.Path, _ = d.at("path").(string)
	if d.Path == "" {
		d.Path = "."
	}
	d.Components = stringsIn(d.at("components"))
	d.IgnoreMissingComponents, _ = d.at("ignoreMissingComponents").(bool)
	d.Patches = patchesIn(d.at("patches"), []string{"spec", "patches"})
	d.Labels = stringMap(d.at("commonMetadata", "labels"))
	return d
}

func argoCD(object *unstructured.Unstructured, spec []string) []Delivery {
	sources, _ := at(object, under(spec, "sources")...).([]any)
	fields := make([][]string, 0, len(sources)+1)
	for i := range sources {
		fields = append(fields, under(spec, "sources", strconv.Itoa(i)))
	}
	if source := at(object, under(spec, "source")...); source != nil {
		sources, fields = append(sources, source), append(fields, under(spec, "source"))
	}
	var deliveries []Delivery
	for i, source := range sources {
		from, ok := source.(map[string]any)
		if !ok {
			continue
		}
		wrapped := &unstructured.Unstructured{Object: from}
		d := Delivery{Tool: ArgoCD, Object: object, spec: spec}
		d.Path, _ = from["path"].(string)
		d.Recurse, _ = at(wrapped, "directory", "recurse").(bool)
		d.Components = stringsIn(at(wrapped, "kustomize", "components"))
		d.IgnoreMissingComponents, _ = at(wrapped, "kustomize", "ignoreMissingComponents").(bool)
		d.Patches = patchesIn(at(wrapped, "kustomize", "patches"), under(fields[i], "kustomize", "patches"))
		d.Labels = stringMap(at(wrapped, "kustomize", "commonLabels"))
		deliveries = append(deliveries, d)
	}
	return deliveries
}

// at is a setting.
func (d Delivery) at(fields ...string) any { return at(d.Object, under(d.spec, fields...)...) }

// force are the fields that make the tool delete what it cannot change.
func (d Delivery) force() [][]string {
	var fields [][]string
	if d.Tool == Flux {
		if on, _ := d.at("force").(bool); on {
			fields = append(fields, under(d.spec, "force"))
		}
		return fields
	}
	for _, strategy := range []string{"apply", "hook"} {
		field := []string{"operation", "sync", "syncStrategy", strategy, "force"}
		if on, _ := at(d.Object, field...).(bool); on {
			fields = append(fields, field)
		}
	}
	return fields
}

// syncOption is the field that sets an option for Argo CD, nil if none does.
func (d Delivery) syncOption(option string) []string {
	if d.Tool != ArgoCD {
		return nil
	}
	for i, has := range stringsIn(d.at("syncPolicy", "syncOptions")) {
		if has == option {
			return under(d.spec, "syncPolicy", "syncOptions", strconv.Itoa(i))
		}
	}
	return nil
}

func patchesIn(value any, field []string) []InlinePatch {
	list, _ := value.([]any)
	var patches []InlinePatch
	for i, item := range list {
		if entry, ok := item.(map[string]any); ok {
			text, _ := entry["patch"].(string)
			patches = append(patches, InlinePatch{Field: under(field, strconv.Itoa(i)), Patch: text, Target: stringMap(entry["target"])})
		}
	}
	return patches
}

func stringsIn(value any) []string {
	list, _ := value.([]any)
	var found []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

func stringMap(value any) map[string]string {
	entries, _ := value.(map[string]any)
	if len(entries) == 0 {
		return nil
	}
	found := map[string]string{}
	for key, item := range entries {
		if text, ok := item.(string); ok {
			found[key] = text
		}
	}
	return found
}
