package helm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
)

// Inflate renders charts that kustomizations take in, as `kustomize build --enable-helm` would have helm do it.
// https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/helmcharts/
// What other clusters would make of them is noted with a unit, if there is one.
func (r Renderer) Inflate(ctx context.Context, u *delivery.Unit) func(dir, home string, chart types.HelmChart) ([]byte, error) {
	return func(dir, home string, chart types.HelmChart) ([]byte, error) {
		return r.inflate(ctx, u, dir, home, chart)
	}
}

func (r Renderer) inflate(ctx context.Context, u *delivery.Unit, dir, home string, h types.HelmChart) ([]byte, error) {
	if !files.Inside(dir, r.Tree.Root) {
		return nil, errors.New("a remote base takes it in")
	}
	chart, err := r.chartToInflate(ctx, dir, home, h)
	if err != nil {
		return nil, err
	}
	values, err := r.valuesToInflate(dir, h)
	if err != nil {
		return nil, err
	}
	release := charts.Release{
		Name: cmp.Or(h.ReleaseName, "release-name"), Namespace: cmp.Or(h.Namespace, "default"), Values: values, KubeVersion: h.KubeVersion, APIVersions: h.ApiVersions,
		Hooks: []string{charts.AnyHook},
	}
	rendering, chart, err := r.Render(ctx, chart, release)
	if err != nil {
		return nil, err
	}
	if u != nil {
		r.Elsewhere(ctx, u, chart, release, false)
	}
	objects := WithoutHooks(rendering.Objects, func(hook string) bool { return h.SkipHooks || h.SkipTests && IsTest(hook) })
	if h.IncludeCRDs {
		objects = slices.Concat(rendering.CRDs, objects)
	}
	var manifests bytes.Buffer
	for _, object := range objects {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		manifests.WriteString("---\n")
		manifests.Write(content)
	}
	return manifests.Bytes(), nil
}

// WithoutHooks are objects without those that Helm runs as certain hooks.
func WithoutHooks(objects []*delivery.Object, is func(hook string) bool) []*delivery.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o *delivery.Object) bool { return slices.ContainsFunc(charts.HooksOf(o), is) })
}

// IsTest reports whether a hook of Helm's is run by `helm test`.
func IsTest(hook string) bool { return strings.HasPrefix(hook, "test") }

// chartToInflate is the one that lies there, or else that of its repository.
func (r Renderer) chartToInflate(ctx context.Context, dir, home string, h types.HelmChart) (*charts.Chart, error) {
	if !filepath.IsLocal(filepath.Join(home, h.Name)) {
		return nil, errors.New("it is said to lie outside of its folder")
	}
	at := filepath.Join(dir, home, h.Name)
	if h.Version != "" && h.Repo != "" {
		at = filepath.Join(dir, home, h.Name+"-"+h.Version, h.Name)
	}
	if files.HasChart(at) {
		return Load(r.Tree, at)
	}
	if h.Repo == "" {
		return nil, fmt.Errorf("it names no repository, and there is no chart at %s", r.Tree.Relative(at))
	}
	return r.Chart(ctx, charts.Reference{Repository: h.Repo, Name: h.Name, Version: h.Version})
}

// valuesToInflate are the file of values and those in the kustomization, one over the other, and more files over both.
func (r Renderer) valuesToInflate(dir string, h types.HelmChart) (map[string]any, error) {
	read := func(name string) (map[string]any, error) {
		content, found := r.Tree.Read(r.Tree.Relative(filepath.Join(dir, filepath.FromSlash(name))))
		if !found {
			return nil, fmt.Errorf("there is no file of values %s in this repository", name)
		}
		return charts.WithFile(map[string]any{}, name, content)
	}
	values := map[string]any{}
	if h.ValuesFile != "" && h.ValuesMerge != "replace" {
		var err error
		if values, err = read(h.ValuesFile); err != nil {
			return nil, err
		}
	}
	if h.ValuesMerge == "merge" {
		values = charts.Merge(h.ValuesInline, values)
	} else {
		values = charts.Merge(values, h.ValuesInline)
	}
	for _, name := range h.AdditionalValuesFiles {
		more, err := read(name)
		if err != nil {
			return nil, err
		}
		values = charts.Merge(values, more)
	}
	return values, nil
}
