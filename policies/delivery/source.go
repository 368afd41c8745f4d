package delivery

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/policies/words"
)

// Source is one folder that a Flux Kustomization or an Argo CD Application applies, and what is added to it.
type Source struct {
	// Settings are the fields of the source itself; with Flux, those of the Kustomization's spec.
	Settings *Object
	// Path is the folder, relative to the root of its repository; empty if it is none, as with a chart.
	Path string
	// Recurse: Argo CD takes the manifests of folders below, too.
	Recurse bool
	// Components, Patches and Labels are added to what lies in the folder.
	Components              []string
	IgnoreMissingComponents bool
	Patches                 []types.Patch
	Labels                  map[string]string
	// PatchesField is where the list of Patches stands in the tool's own object.
	PatchesField []string
}

// Patch sets the opt-in label on what it selects, or takes it off.
type Patch struct {
	// File and Line are where the patch stands in a kustomization. A patch in the tool's own object has none, but Field.
	File  string
	Line  int
	Field []string
	// TakesOff: the patch has null for the label.
	TakesOff bool
	// Reached is on how many CRDs of the build the patch has set the label, or from how many it has taken it off.
	Reached int
}

// FluxGroup is the API group of Flux's Kustomizations, and the prefix of its settings on objects.
const FluxGroup = "kustomize.toolkit.fluxcd.io"

// ToolOf is what applies something because of an object, empty if nothing does.
func ToolOf(object *Object) Tool {
	switch {
	case object.Is(FluxGroup, "Kustomization"):
		return Flux
	case object.Is("argoproj.io", "Application"), object.Is("argoproj.io", "ApplicationSet"):
		return ArgoCD
	}
	return ""
}

// SpecOf is the field with the settings of a Kustomization, an Application or an ApplicationSet.
func SpecOf(object *Object) []string {
	if object.Is("argoproj.io", "ApplicationSet") {
		return []string{"spec", "template", "spec"}
	}
	return []string{"spec"}
}

// SourcesOf reads an object that makes a tool apply folders: none if it is another object, several if it has several.
func SourcesOf(object *Object) []Source {
	switch ToolOf(object) {
	case Flux:
		return []Source{fluxSource(object)}
	case ArgoCD:
		return argoCDSources(object)
	case Helm: // installs charts
	}
	return nil
}

func fluxSource(object *Object) Source {
	spec := object.In("spec")
	return Source{
		Settings: spec, Path: cmp.Or(spec.Text("path"), "."),
		Components: spec.Texts("components"), IgnoreMissingComponents: spec.True("ignoreMissingComponents"),
		Patches: patchesIn(spec, "patches"), PatchesField: []string{"spec", "patches"}, Labels: spec.TextMap("commonMetadata", "labels"),
	}
}

func argoCDSources(object *Object) []Source {
	spec := SpecOf(object)
	list, _ := object.Field(Under(spec, "sources")...).([]any)
	fields := make([][]string, 0, len(list)+1)
	for i := range list {
		fields = append(fields, Under(spec, "sources", strconv.Itoa(i)))
	}
	for _, one := range [][]string{{"source"}, {"sourceHydrator", "drySource"}} { // what the hydrator makes of the latter is applied
		if source := object.Field(Under(spec, one...)...); source != nil {
			list, fields = append(slices.Clone(list), source), append(fields, Under(spec, one...))
		}
	}
	var sources []Source
	for i, item := range list {
		content, ok := item.(map[string]any)
		if !ok {
			continue
		}
		settings := Wrap(content)
		sources = append(sources, Source{
			Settings: settings, Path: settings.Text("path"), Recurse: settings.True("directory", "recurse"),
			Components:              settings.Texts("kustomize", "components"),
			IgnoreMissingComponents: settings.True("kustomize", "ignoreMissingComponents"),
			Patches:                 patchesIn(settings, "kustomize", "patches"),
			PatchesField:            Under(fields[i], "kustomize", "patches"),
			Labels:                  settings.TextMap("kustomize", "commonLabels"),
		})
	}
	return sources
}

// patchesIn are those in a list of a tool's own object, as Kustomize knows them.
func patchesIn(o *Object, fields ...string) []types.Patch {
	var patches []types.Patch
	for _, entry := range o.Entries(fields...) {
		var patch types.Patch
		if raw, err := json.Marshal(entry.Object); err == nil && json.Unmarshal(raw, &patch) == nil {
			patches = append(patches, patch)
		}
	}
	return patches
}

// Reference is what an object names another one by.
type Reference struct{ Kind, Namespace, Name string }

// ReferenceOf reads a reference. It means an object of the given namespace unless it says otherwise.
func ReferenceOf(entry *Object, namespace string) Reference {
	return Reference{Kind: entry.Text("kind"), Namespace: cmp.Or(entry.Text("namespace"), namespace), Name: entry.Text("name")}
}

// Ref is the reference in a field, without a kind and a name if there is none.
func (o *Object) Ref(fields ...string) Reference {
	return ReferenceOf(o.In(fields...), o.GetNamespace())
}

// SourceRef is what a Kustomization takes its manifests from; empty if it does not say.
func (o *Object) SourceRef() Reference { return o.Ref("spec", "sourceRef") }

// Chart is what a HelmRelease or a HelmChart of Flux says about its chart.
type Chart struct {
	*Object // the fields of spec.chart.spec, or of a HelmChart's spec

	// Source is where the chart is.
	Source Reference
	// ByReference: the source is the chart, and there are no fields.
	ByReference bool
}

// ChartOf reads it.
func ChartOf(o *Object) Chart {
	fields := []string{"spec"}
	if o.Is("helm.toolkit.fluxcd.io", "HelmRelease") {
		if o.Field("spec", "chartRef") != nil {
			return Chart{Object: Wrap(nil), Source: o.Ref("spec", "chartRef"), ByReference: true}
		}
		fields = []string{"spec", "chart", "spec"}
	}
	return Chart{Object: o.In(fields...), Source: o.Ref(Under(fields, "sourceRef")...)}
}

// String is namespace/name.
func (r Reference) String() string { return words.FullName(r.Namespace, r.Name) }

// exactly is a version that is given to one artifact alone.
var exactly = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+].*)?$`)

// IsExact reports whether a version is one, and no range of them.
func IsExact(version string) bool { return exactly.MatchString(version) }

// Under is fields below others, without sharing memory.
func Under(fields []string, more ...string) []string { return append(slices.Clone(fields), more...) }
