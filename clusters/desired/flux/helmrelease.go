package flux

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// releaseName is the name of the Helm release.
func releaseName(by *delivery.Object) string {
	name := by.GetName()
	if target := by.Text("spec", "targetNamespace"); target != "" {
		name = target + "-" + name
	}
	name = cmp.Or(by.Text("spec", "releaseName"), name)
	const most, hash = 53, 12 // Helm's limit, and what helm-controller cuts off before a hash
	if len(name) > most {
		sum := sha256.Sum256([]byte(name))
		name = name[:most-hash-1] + "-" + hex.EncodeToString(sum[:])[:hash]
	}
	return name
}

// tagOf is the tag of an OCIRepository: a range of versions comes before it, and without both it is latest.
// https://fluxcd.io/flux/components/source/ocirepositories/#reference
func tagOf(source *delivery.Object) string {
	if source.Text("spec", "ref", "semver") != "" || source.Text("spec", "ref", "digest") != "" {
		return ""
	}
	return cmp.Or(source.Text("spec", "ref", "tag"), "latest")
}

// inNamespace gives objects the namespace of their release, as Helm does, where it matters which that is.
func inNamespace(objects []*delivery.Object, namespace string) {
	for _, o := range objects {
		if o.GetNamespace() == "" && (kinds.Delivers(o) || kinds.Installs(o) || o.IsGate() || slices.Contains(kinds.Decisive, o.GetKind())) {
			o.SetNamespace(namespace)
		}
	}
}

// Release is what helm-controller applies for a HelmRelease.
// https://fluxcd.io/flux/components/helm/helmreleases/
func (o Objects) Release(ctx context.Context, r helm.Renderer, by *delivery.Object, parent *delivery.Unit) (*delivery.Unit, error) {
	switch {
	case o.Templated[by]:
		return nil, errors.New("some of its variables are not known")
	case by.Field("spec", "kubeConfig") != nil:
		return nil, errors.New("it is applied to another cluster (spec.kubeConfig)")
	}
	u := &delivery.Unit{Name: kinds.NameOf(by, parent), Tool: delivery.Helm, By: by, Parent: parent, Suspended: by.True("spec", "suspend")}
	chart, files, err := o.chart(ctx, r, u)
	if err != nil {
		return nil, err
	}
	if chart, err = files.in(chart, r.Tree); err != nil {
		return nil, err
	}
	values, err := o.values(by)
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(by.Text("spec", "targetNamespace"), by.GetNamespace())
	release := charts.Release{
		Name: releaseName(by), Namespace: namespace, Values: values, Upgrade: true,
		SkipSchema: by.True("spec", "upgrade", "disableSchemaValidation"), Hooks: hooksOf(by),
	}
	rendering, chart, err := r.Render(ctx, chart, release)
	if err != nil {
		return nil, err
	}
	r.Elsewhere(ctx, u, chart, release, true)
	u.Charts = []string{helm.Name(chart)}
	u.Objects, err = postRendered(by, helm.Placed(r.Tree, rendering.Objects))
	if err != nil {
		return nil, err
	}
	switch crds := helm.Placed(r.Tree, rendering.CRDs); {
	case by.Text("spec", "upgrade", "crds") == "CreateReplace":
		u.Kept = crds
		u.Objects = append(u.Objects, crds...)
	case by.Text("spec", "install", "crds") == "CreateReplace":
		u.Installed = crds
	}
	inNamespace(u.Objects, namespace)
	return u, nil
}

// hooksOf are those that are run beside the ones of installations and upgrades: tests if asked for, and others after what has failed.
// https://fluxcd.io/flux/components/helm/helmreleases/#test-configuration
func hooksOf(by *delivery.Object) (hooks []string) {
	if by.True("spec", "test", "enable") {
		hooks = append(hooks, "test", "test-success")
	}
	upgrade := by.Field("spec", "upgrade", "remediation")
	if upgrade != nil {
		hooks = append(hooks, "pre-rollback", "post-rollback")
	}
	if upgrade != nil || by.Field("spec", "install", "remediation") != nil {
		hooks = append(hooks, "pre-delete", "post-delete")
	}
	return hooks
}

// chart finds that of a HelmRelease, and remembers where it is from.
func (o Objects) chart(ctx context.Context, r helm.Renderer, u *delivery.Unit) (*charts.Chart, valuesFiles, error) {
	chart := delivery.ChartOf(u.By)
	switch {
	case !chart.ByReference:
		return o.chartOfTemplate(ctx, r, u, chart)
	case chart.Source.Kind == "OCIRepository":
		return o.chartOfArtifact(ctx, r, chart.Source)
	case chart.Source.Kind != "HelmChart":
		return nil, valuesFiles{}, fmt.Errorf("its chart comes from %s %s", chart.Source.Kind, chart.Source)
	}
	object := o.Source("HelmChart", chart.Source)
	if object == nil {
		return nil, valuesFiles{}, fmt.Errorf("HelmChart %s is not in this repository", chart.Source)
	}
	return o.chartOfTemplate(ctx, r, u, delivery.ChartOf(object))
}

func (o Objects) chartOfTemplate(ctx context.Context, r helm.Renderer, u *delivery.Unit, t delivery.Chart) (*charts.Chart, valuesFiles, error) {
	named := valuesFiles{names: t.Texts("valuesFiles"), ignoreMissing: t.True("ignoreMissingValuesFiles")}
	switch name := t.Text("chart"); {
	case name == "":
		return nil, named, charts.ErrNotAsked
	case t.Source.Kind == "HelmRepository":
		chart, err := o.chartOfRepository(ctx, r, t.Source, name, t.Text("version"))
		return chart, named, err
	case t.Source.Kind != "GitRepository":
		return nil, named, charts.ErrNotAsked
	}
	elsewhere, pinned := o.SourceIsHere(t.Source)
	dir := r.Tree.Folder(t.Text("chart"))
	switch {
	case elsewhere != "":
		return nil, named, errors.New(elsewhere)
	case strings.HasSuffix(t.Text("chart"), ".tgz"):
		content, found := r.Tree.Read(strings.TrimPrefix(path.Clean("/"+t.Text("chart")), "/"))
		if !found {
			return nil, named, fmt.Errorf("there is no chart %s in this repository", t.Text("chart"))
		}
		u.Pinned = pinned
		chart, err := charts.Archive(content)
		return chart, named, err
	case dir == "" || !files.HasChart(dir):
		return nil, named, fmt.Errorf("there is no chart %s in this repository", t.Text("chart"))
	}
	u.Pinned, u.Dirs, named.below = pinned, []string{r.Tree.Relative(dir)}, r.Tree.Root
	chart, err := helm.Load(r.Tree, dir)
	if err != nil {
		err = r.Tree.Shorten(err)
	}
	return chart, named, err
}

// chartOfRepository is one of a HelmRepository, of HTTP or OCI.
func (o Objects) chartOfRepository(ctx context.Context, r helm.Renderer, from delivery.Reference, name, version string) (*charts.Chart, error) {
	reference, err := o.inHelmRepository(from, name, version)
	if err != nil {
		return nil, err
	}
	return r.Chart(ctx, reference)
}

func (o Objects) inHelmRepository(from delivery.Reference, name, version string) (charts.Reference, error) {
	source := o.known("HelmRepository", from)
	if source == nil {
		return charts.Reference{}, fmt.Errorf("HelmRepository %s is not in this repository", from)
	}
	return charts.Reference{Repository: source.Text("spec", "url"), Name: name, Version: version, Insecure: source.True("spec", "insecure")}, nil
}

// chartOfArtifact is that of an OCIRepository.
func (o Objects) chartOfArtifact(ctx context.Context, r helm.Renderer, to delivery.Reference) (*charts.Chart, valuesFiles, error) {
	reference, err := o.inOCIRepository(to)
	if err != nil {
		return nil, valuesFiles{}, err
	}
	chart, err := r.Chart(ctx, reference)
	return chart, valuesFiles{}, err
}

func (o Objects) inOCIRepository(to delivery.Reference) (charts.Reference, error) {
	source := o.known("OCIRepository", to)
	if source == nil {
		return charts.Reference{}, fmt.Errorf("OCIRepository %s is not in this repository", to)
	}
	return charts.Reference{
		Repository: source.Text("spec", "url"), Insecure: source.True("spec", "insecure"), Digest: source.Text("spec", "ref", "digest"),
		Version: source.Text("spec", "ref", "semver"), Tag: tagOf(source),
	}, nil
}

// ReferenceOf is the chart of a HelmRelease that is not in this repository.
func (o Objects) ReferenceOf(by *delivery.Object) (charts.Reference, bool) {
	chart := delivery.ChartOf(by)
	if chart.ByReference {
		reference, err := o.inOCIRepository(chart.Source)
		return reference, err == nil && chart.Source.Kind == "OCIRepository"
	}
	reference, err := o.inHelmRepository(chart.Source, chart.Text("chart"), chart.Text("version"))
	return reference, err == nil && chart.Source.Kind == "HelmRepository" && chart.Text("chart") != ""
}
