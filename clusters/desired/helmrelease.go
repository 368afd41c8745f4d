package desired

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// releases are the HelmReleases of a cluster. A survey has none.
type releases struct {
	// chartSource finds charts that are not in the repository.
	chartSource ChartSource
	// pending are those to be rendered when all else has been found that their values may come from.
	pending []pointer
	// ahead is how many of them, from the first, fetchAhead has looked at.
	ahead int
	// released are those that are rendered, by their names, and notRendered says why others are not.
	released    map[string]*delivery.Object
	notRendered map[*delivery.Object]error
}

func newReleases() *releases {
	return &releases{chartSource: nowhere{}, released: map[string]*delivery.Object{}, notRendered: map[*delivery.Object]error{}}
}

// rendered reports whether what a HelmRelease installs is among the units.
func (r *releases) rendered(by *delivery.Object) bool {
	return r != nil && kinds.IsHelmRelease(by) && r.notRendered[by] == nil
}

// release makes a unit of a HelmRelease if its chart can be rendered. If it cannot, the HelmRelease is unseen, and why is
// remembered.
func (f *follower) release(p pointer) {
	if other := f.released[f.releaseKey(p)]; other != nil {
		if !reflect.DeepEqual(other.Object, p.by.Object) {
			f.notRendered[p.by] = errors.New("another manifest of the same name is rendered")
		}
		return
	}
	unit, err := f.releaseUnit(p)
	if err != nil {
		f.notRendered[p.by] = err
		return
	}
	f.released[f.releaseKey(p)] = p.by
	f.cluster.Units = append(f.cluster.Units, unit)
	f.report(unit)
}

func (f *follower) releaseKey(p pointer) string { return "HelmRelease " + unitName(p) }

// releaseUnit is what helm-controller applies for a HelmRelease.
// https://fluxcd.io/flux/components/helm/helmreleases/
func (f *follower) releaseUnit(p pointer) (*delivery.Unit, error) {
	by := p.by
	switch {
	case f.templated[by]:
		return nil, errors.New("some of its variables are not known")
	case by.Field("spec", "kubeConfig") != nil:
		return nil, errors.New("it is applied to another cluster (spec.kubeConfig)")
	}
	u := &delivery.Unit{Name: f.releaseKey(p), Tool: delivery.Helm, By: by, Parent: p.parent, Suspended: by.True("spec", "suspend")}
	chart, files, err := f.chartOfRelease(u)
	if err != nil {
		return nil, err
	}
	values, err := f.valuesOfRelease(by, chart, files)
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(by.Text("spec", "targetNamespace"), by.GetNamespace())
	rendering, err := f.render(chart, charts.Release{
		Name: releaseName(by), Namespace: namespace, Values: values, Upgrade: true,
		SkipSchema: by.True("spec", "upgrade", "disableSchemaValidation"),
	})
	if err != nil {
		return nil, err
	}
	u.Charts = []string{nameChart(chart)}
	u.Objects, err = f.postRendered(by, f.placedInChart(rendering.Objects))
	if err != nil {
		return nil, err
	}
	switch crds := f.placedInChart(rendering.CRDs); {
	case by.Text("spec", "upgrade", "crds") == "CreateReplace":
		u.Kept = crds
		u.Objects = append(u.Objects, crds...)
	case by.Text("spec", "install", "crds") == "CreateReplace":
		u.Installed = crds
	}
	inNamespace(u.Objects, namespace)
	return u, nil
}

// releaseName is the name of the Helm release.
func releaseName(by *delivery.Object) string {
	if name := by.Text("spec", "releaseName"); name != "" {
		return name
	}
	if target := by.Text("spec", "targetNamespace"); target != "" {
		return target + "-" + by.GetName()
	}
	return by.GetName()
}

// chartTemplate names the chart: the fields of a HelmRelease's spec.chart.spec, or of a HelmChart's spec.
type chartTemplate struct {
	*delivery.Object

	source delivery.Reference
}

func templateOf(content any, namespace string) chartTemplate {
	spec, _ := content.(map[string]any)
	t := chartTemplate{Object: delivery.Wrap(spec)}
	source, _ := t.Field("sourceRef").(map[string]any)
	t.source = delivery.ReferenceOf(delivery.Wrap(source), namespace)
	return t
}

// chartOfRelease finds the chart, and remembers where it is from.
func (f *follower) chartOfRelease(u *delivery.Unit) (*charts.Chart, valuesFiles, error) {
	by := u.By
	if ref, ok := by.Field("spec", "chartRef").(map[string]any); ok {
		to := delivery.ReferenceOf(delivery.Wrap(ref), by.GetNamespace())
		switch to.Kind {
		case "OCIRepository":
			return f.chartOfArtifact(to)
		case "HelmChart":
			for _, object := range f.cluster.Named("HelmChart", to.Namespace, to.Name) {
				if object.Is("source.toolkit.fluxcd.io", "HelmChart") {
					return f.chartOfTemplate(u, templateOf(object.Field("spec"), object.GetNamespace()))
				}
			}
			return nil, valuesFiles{}, fmt.Errorf("HelmChart %s is not in this repository", to)
		}
		return nil, valuesFiles{}, fmt.Errorf("its chart comes from %s %s", to.Kind, to)
	}
	return f.chartOfTemplate(u, templateOf(by.Field("spec", "chart", "spec"), by.GetNamespace()))
}

func (f *follower) chartOfTemplate(u *delivery.Unit, t chartTemplate) (*charts.Chart, valuesFiles, error) {
	named := valuesFiles{names: t.Texts("valuesFiles"), ignoreMissing: t.True("ignoreMissingValuesFiles")}
	switch name := t.Text("chart"); {
	case name == "":
		return nil, named, charts.ErrNotAsked
	case t.source.Kind == "HelmRepository":
		chart, err := f.chartOfRepository(t.source, name, t.Text("version"))
		return chart, named, err
	case t.source.Kind != "GitRepository":
		return nil, named, charts.ErrNotAsked
	}
	elsewhere, pinned := f.sourceIsHere(t.source)
	dir := f.tree.Folder(t.Text("chart"))
	switch {
	case elsewhere != "":
		return nil, named, errors.New(elsewhere)
	case dir == "" || !files.HasChart(dir):
		return nil, named, fmt.Errorf("there is no chart %s in this repository", t.Text("chart"))
	}
	u.Pinned, u.Dirs, named.below = pinned, []string{f.tree.Relative(dir)}, f.tree.Root
	chart, err := f.chartIn(dir)
	if err != nil {
		err = f.tree.Shorten(err)
	}
	return chart, named, err
}

// chartOfRepository is one of a HelmRepository, of HTTP or OCI.
func (f *follower) chartOfRepository(from delivery.Reference, name, version string) (*charts.Chart, error) {
	reference, err := f.inHelmRepository(from, name, version)
	if err != nil {
		return nil, err
	}
	return f.chartSource.Chart(f.ctx, reference)
}

func (f *follower) inHelmRepository(from delivery.Reference, name, version string) (charts.Reference, error) {
	source := f.fluxObject("HelmRepository", from)
	if source == nil {
		return charts.Reference{}, fmt.Errorf("HelmRepository %s is not in this repository", from)
	}
	return charts.Reference{Repository: source.Text("spec", "url"), Name: name, Version: version, Insecure: source.True("spec", "insecure")}, nil
}

// chartOfArtifact is that of an OCIRepository.
func (f *follower) chartOfArtifact(to delivery.Reference) (*charts.Chart, valuesFiles, error) {
	reference, err := f.inOCIRepository(to)
	if err != nil {
		return nil, valuesFiles{}, err
	}
	chart, err := f.chartSource.Chart(f.ctx, reference)
	return chart, valuesFiles{}, err
}

func (f *follower) inOCIRepository(to delivery.Reference) (charts.Reference, error) {
	source := f.fluxObject("OCIRepository", to)
	if source == nil {
		return charts.Reference{}, fmt.Errorf("OCIRepository %s is not in this repository", to)
	}
	return charts.Reference{
		Repository: source.Text("spec", "url"), Insecure: source.True("spec", "insecure"), Digest: source.Text("spec", "ref", "digest"),
		Version: source.Text("spec", "ref", "semver"), Tag: tagOfArtifact(source),
	}, nil
}

// tagOfArtifact is the tag of an OCIRepository: a range of versions comes before it, and without both it is latest.
// https://fluxcd.io/flux/components/source/ocirepositories/#reference
func tagOfArtifact(source *delivery.Object) string {
	if source.Text("spec", "ref", "semver") != "" || source.Text("spec", "ref", "digest") != "" {
		return ""
	}
	return cmp.Or(source.Text("spec", "ref", "tag"), "latest")
}

// fluxObject is a source among the objects seen so far, nil if there is none or if some of it is not known.
func (f *follower) fluxObject(kind string, to delivery.Reference) *delivery.Object {
	for _, object := range f.cluster.Named(kind, to.Namespace, to.Name) {
		if object.Is("source.toolkit.fluxcd.io", kind) && !f.templated[object] {
			return object
		}
	}
	return nil
}

// inNamespace gives objects the namespace of their release, as Helm does, where it matters which that is.
func inNamespace(objects []*delivery.Object, namespace string) {
	for _, o := range objects {
		if o.GetNamespace() == "" && (kinds.Delivers(o) || kinds.Installs(o) || o.IsGate() || slices.Contains(kinds.Decisive, o.GetKind())) {
			o.SetNamespace(namespace)
		}
	}
}

// labelled puts spec.commonMetadata on objects.
func labelled(objects []*delivery.Object, labels, annotations map[string]string) {
	for _, o := range objects {
		if all := o.GetLabels(); len(labels) > 0 {
			o.SetLabels(merged(all, labels))
		}
		if all := o.GetAnnotations(); len(annotations) > 0 {
			o.SetAnnotations(merged(all, annotations))
		}
	}
}

func merged(below, above map[string]string) map[string]string {
	all := maps.Clone(below)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, above)
	return all
}
