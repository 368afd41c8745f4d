package desired

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// releases are the HelmReleases of a cluster.
type releases struct {
	// charts renders theirs, and those of Applications and kustomizations.
	charts helm.Renderer
	// pending are those to be rendered when all else has been found that their values may come from.
	pending []pointer
	// ahead is how many of them, from the first, fetchAhead has looked at.
	ahead int
	// released are those that are rendered, by their names, and notRendered says why others are not.
	released    map[string]*delivery.Object
	notRendered map[*delivery.Object]error
}

func newReleases(t *files.Tree, source helm.Source) *releases {
	if source == nil {
		source = helm.None{}
	}
	return &releases{charts: helm.Renderer{Source: source, Tree: t}, released: map[string]*delivery.Object{}, notRendered: map[*delivery.Object]error{}}
}

// rendered reports whether what a HelmRelease installs is among the units.
func (r *releases) rendered(by *delivery.Object) bool {
	return r != nil && kinds.IsHelmRelease(by) && r.notRendered[by] == nil
}

// release makes a unit of a HelmRelease if its chart can be rendered. If it cannot, the HelmRelease is unseen, and why is
// remembered.
func (f *follower) release(ctx context.Context, p pointer) {
	if other := f.released[f.releaseKey(p)]; other != nil {
		if !reflect.DeepEqual(other.Object, p.by.Object) {
			f.notRendered[p.by] = errors.New("another manifest of the same name is rendered")
		}
		return
	}
	unit, err := f.releaseUnit(ctx, p)
	if err != nil {
		f.notRendered[p.by] = err
		return
	}
	f.released[f.releaseKey(p)] = p.by
	f.cluster.Units = append(f.cluster.Units, unit)
	f.report(unit)
}

func (f *follower) releaseKey(p pointer) string {
	return "HelmRelease " + kinds.UnitName(p.by, p.parent)
}

// releaseUnit is what helm-controller applies for a HelmRelease.
// https://fluxcd.io/flux/components/helm/helmreleases/
func (f *follower) releaseUnit(ctx context.Context, p pointer) (*delivery.Unit, error) {
	by := p.by
	switch {
	case f.templated[by]:
		return nil, errors.New("some of its variables are not known")
	case by.Field("spec", "kubeConfig") != nil:
		return nil, errors.New("it is applied to another cluster (spec.kubeConfig)")
	}
	u := &delivery.Unit{Name: f.releaseKey(p), Tool: delivery.Helm, By: by, Parent: p.parent, Suspended: by.True("spec", "suspend")}
	chart, files, err := f.chartOfRelease(ctx, u)
	if err != nil {
		return nil, err
	}
	values, err := f.valuesOfRelease(by, chart, files)
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(by.Text("spec", "targetNamespace"), by.GetNamespace())
	rendering, err := f.charts.Render(ctx, chart, charts.Release{
		Name: flux.ReleaseName(by), Namespace: namespace, Values: values, Upgrade: true,
		SkipSchema: by.True("spec", "upgrade", "disableSchemaValidation"),
	})
	if err != nil {
		return nil, err
	}
	u.Charts = []string{helm.Name(chart)}
	u.Objects, err = flux.PostRendered(by, helm.Placed(f.tree, rendering.Objects))
	if err != nil {
		return nil, err
	}
	switch crds := helm.Placed(f.tree, rendering.CRDs); {
	case by.Text("spec", "upgrade", "crds") == "CreateReplace":
		u.Kept = crds
		u.Objects = append(u.Objects, crds...)
	case by.Text("spec", "install", "crds") == "CreateReplace":
		u.Installed = crds
	}
	flux.InNamespace(u.Objects, namespace)
	return u, nil
}

// chartOfRelease finds the chart, and remembers where it is from.
func (f *follower) chartOfRelease(ctx context.Context, u *delivery.Unit) (*charts.Chart, valuesFiles, error) {
	by := u.By
	if ref, ok := by.Field("spec", "chartRef").(map[string]any); ok {
		to := delivery.ReferenceOf(delivery.Wrap(ref), by.GetNamespace())
		switch to.Kind {
		case "OCIRepository":
			return f.chartOfArtifact(ctx, to)
		case "HelmChart":
			if object := f.source("HelmChart", to); object != nil {
				return f.chartOfTemplate(ctx, u, flux.TemplateOf(object.Field("spec"), object.GetNamespace()))
			}
			return nil, valuesFiles{}, fmt.Errorf("HelmChart %s is not in this repository", to)
		}
		return nil, valuesFiles{}, fmt.Errorf("its chart comes from %s %s", to.Kind, to)
	}
	return f.chartOfTemplate(ctx, u, flux.TemplateOf(by.Field("spec", "chart", "spec"), by.GetNamespace()))
}

func (f *follower) chartOfTemplate(ctx context.Context, u *delivery.Unit, t flux.ChartTemplate) (*charts.Chart, valuesFiles, error) {
	named := valuesFiles{names: t.Texts("valuesFiles"), ignoreMissing: t.True("ignoreMissingValuesFiles")}
	switch name := t.Text("chart"); {
	case name == "":
		return nil, named, charts.ErrNotAsked
	case t.Source.Kind == "HelmRepository":
		chart, err := f.chartOfRepository(ctx, t.Source, name, t.Text("version"))
		return chart, named, err
	case t.Source.Kind != "GitRepository":
		return nil, named, charts.ErrNotAsked
	}
	elsewhere, pinned := f.sourceIsHere(t.Source)
	dir := f.tree.Folder(t.Text("chart"))
	switch {
	case elsewhere != "":
		return nil, named, errors.New(elsewhere)
	case dir == "" || !files.HasChart(dir):
		return nil, named, fmt.Errorf("there is no chart %s in this repository", t.Text("chart"))
	}
	u.Pinned, u.Dirs, named.below = pinned, []string{f.tree.Relative(dir)}, f.tree.Root
	chart, err := helm.Load(f.tree, dir)
	if err != nil {
		err = f.tree.Shorten(err)
	}
	return chart, named, err
}

// chartOfRepository is one of a HelmRepository, of HTTP or OCI.
func (f *follower) chartOfRepository(ctx context.Context, from delivery.Reference, name, version string) (*charts.Chart, error) {
	reference, err := f.inHelmRepository(from, name, version)
	if err != nil {
		return nil, err
	}
	return f.charts.Chart(ctx, reference)
}

func (f *follower) inHelmRepository(from delivery.Reference, name, version string) (charts.Reference, error) {
	source := f.fluxObject("HelmRepository", from)
	if source == nil {
		return charts.Reference{}, fmt.Errorf("HelmRepository %s is not in this repository", from)
	}
	return charts.Reference{Repository: source.Text("spec", "url"), Name: name, Version: version, Insecure: source.True("spec", "insecure")}, nil
}

// chartOfArtifact is that of an OCIRepository.
func (f *follower) chartOfArtifact(ctx context.Context, to delivery.Reference) (*charts.Chart, valuesFiles, error) {
	reference, err := f.inOCIRepository(to)
	if err != nil {
		return nil, valuesFiles{}, err
	}
	chart, err := f.charts.Chart(ctx, reference)
	return chart, valuesFiles{}, err
}

func (f *follower) inOCIRepository(to delivery.Reference) (charts.Reference, error) {
	source := f.fluxObject("OCIRepository", to)
	if source == nil {
		return charts.Reference{}, fmt.Errorf("OCIRepository %s is not in this repository", to)
	}
	return charts.Reference{
		Repository: source.Text("spec", "url"), Insecure: source.True("spec", "insecure"), Digest: source.Text("spec", "ref", "digest"),
		Version: source.Text("spec", "ref", "semver"), Tag: flux.TagOf(source),
	}, nil
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
