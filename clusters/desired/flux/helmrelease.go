package flux

import (
	"cmp"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// ReleaseName is the name of the Helm release.
func ReleaseName(by *delivery.Object) string {
	if name := by.Text("spec", "releaseName"); name != "" {
		return name
	}
	if target := by.Text("spec", "targetNamespace"); target != "" {
		return target + "-" + by.GetName()
	}
	return by.GetName()
}

// ChartTemplate names the chart: the fields of a HelmRelease's spec.chart.spec, or of a HelmChart's spec.
type ChartTemplate struct {
	*delivery.Object

	// Source is where the chart is.
	Source delivery.Reference
}

// TemplateOf reads such fields, in an object of a namespace.
func TemplateOf(content any, namespace string) ChartTemplate {
	spec, _ := content.(map[string]any)
	t := ChartTemplate{Object: delivery.Wrap(spec)}
	source, _ := t.Field("sourceRef").(map[string]any)
	t.Source = delivery.ReferenceOf(delivery.Wrap(source), namespace)
	return t
}

// TagOf is the tag of an OCIRepository: a range of versions comes before it, and without both it is latest.
// https://fluxcd.io/flux/components/source/ocirepositories/#reference
func TagOf(source *delivery.Object) string {
	if source.Text("spec", "ref", "semver") != "" || source.Text("spec", "ref", "digest") != "" {
		return ""
	}
	return cmp.Or(source.Text("spec", "ref", "tag"), "latest")
}

// InNamespace gives objects the namespace of their release, as Helm does, where it matters which that is.
func InNamespace(objects []*delivery.Object, namespace string) {
	for _, o := range objects {
		if o.GetNamespace() == "" && (kinds.Delivers(o) || kinds.Installs(o) || o.IsGate() || slices.Contains(kinds.Decisive, o.GetKind())) {
			o.SetNamespace(namespace)
		}
	}
}
