package desired

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/repository"
)

// Charts renders the charts that kustomizations of a repository take in; those that are not in it come from the source.
func Charts(ctx context.Context, tree *repository.Tree, source ChartSource) func(dir, home string, chart types.HelmChart) ([]byte, error) {
	f := &follower{ctx: ctx, tree: files.Of(tree), releases: newReleases()}
	f.chartSource = source
	return f.inflate
}

// inflate renders a chart that a kustomization takes in, as `kustomize build --enable-helm` would have helm do it.
// https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/helmcharts/
func (f *follower) inflate(dir, home string, h types.HelmChart) ([]byte, error) {
	if !files.Inside(dir, f.tree.Root) {
		return nil, errors.New("a remote base takes it in")
	}
	chart, err := f.chartToInflate(dir, home, h)
	if err != nil {
		return nil, err
	}
	values, err := f.valuesToInflate(dir, h)
	if err != nil {
		return nil, err
	}
	rendering, err := f.render(chart, charts.Release{
		Name: cmp.Or(h.ReleaseName, "release-name"), Namespace: cmp.Or(h.Namespace, "default"), Values: values, KubeVersion: h.KubeVersion, APIVersions: h.ApiVersions,
	})
	if err != nil {
		return nil, err
	}
	objects := rendering.Objects
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

// chartToInflate is the one that lies there, or else that of its repository.
func (f *follower) chartToInflate(dir, home string, h types.HelmChart) (*charts.Chart, error) {
	if !filepath.IsLocal(filepath.Join(home, h.Name)) {
		return nil, errors.New("it is said to lie outside of its folder")
	}
	at := filepath.Join(dir, home, h.Name)
	if h.Version != "" && h.Repo != "" {
		at = filepath.Join(dir, home, h.Name+"-"+h.Version, h.Name)
	}
	if files.HasChart(at) {
		return f.chartIn(at)
	}
	if h.Repo == "" {
		return nil, fmt.Errorf("it names no repository, and there is no chart at %s", f.tree.Relative(at))
	}
	return f.chartSource.Chart(f.ctx, charts.Reference{Repository: h.Repo, Name: h.Name, Version: h.Version})
}

// valuesToInflate are the file of values and those in the kustomization, one over the other, and more files over both.
func (f *follower) valuesToInflate(dir string, h types.HelmChart) (map[string]any, error) {
	read := func(name string) (map[string]any, error) {
		content, found := f.tree.Read(f.tree.Relative(filepath.Join(dir, filepath.FromSlash(name))))
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
