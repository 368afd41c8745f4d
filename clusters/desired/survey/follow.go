package survey

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// follow builds what the builds so far make Flux and Argo CD apply, and what is applied from there.
func (s *survey) follow(ctx context.Context) []*build {
	all := slices.Clone(s.builds)
	seen := map[string]bool{}
	for next := 0; next < len(all); next++ {
		for _, object := range all[next].unit.Objects {
			// There may be several clusters, and objects of one name in each.
			key := kinds.NameOf(object, all[next].unit) + " " + object.Place().String()
			if !kinds.Delivers(object) || seen[key] {
				continue
			}
			seen[key] = true
			err := ctx.Err()
			if len(all) > kinds.MostUnits {
				err = fmt.Errorf("these folders lead to more than %d Kustomizations and Applications; name fewer of them", kinds.MostUnits)
			}
			if err != nil {
				s.failed = append(s.failed, err)
				return all[len(s.builds):]
			}
			all = append(all, s.applied(ctx, object, all[next].unit))
		}
	}
	return all[len(s.builds):]
}

// applied builds the folders that a Kustomization or an Application names, wherever its sources say that these are.
func (s *survey) applied(ctx context.Context, by *delivery.Object, parent *delivery.Unit) *build {
	u := &delivery.Unit{Name: kinds.UnitName(by, parent), Tool: delivery.ToolOf(by), By: by, Parent: parent, Sources: delivery.SourcesOf(by), DependsOn: flux.DependsOn(by)}
	b := &build{unit: u}
	for _, source := range u.Sources {
		t, dir := s.folder(source.Path)
		if dir == "" {
			u.Unseen = fmt.Sprintf("there is no folder %s in this repository", source.Path)
			continue
		}
		rendering, err := s.built(ctx, u, source, t, dir)
		if err != nil {
			u.Err = t.Shorten(err)
			continue
		}
		u.Dirs, b.files = append(u.Dirs, relative(dir)), append(b.files, rendering.Files...)
		u.Objects = append(u.Objects, files.Placed(rendering, asWritten)...)
	}
	if u.Err != nil {
		s.fails(u)
	}
	return b
}

// built builds a folder with what a source adds, and finds out how far patches reach.
func (s *survey) built(ctx context.Context, u *delivery.Unit, source delivery.Source, t *files.Tree, dir string) (*render.Rendering, error) {
	build := func(o render.Options) (*render.Rendering, error) {
		rendering, patches, err := buildAndProbe(dir, o, source.PatchesField, s.labelKey)
		u.Patches = append(u.Patches, patches...)
		return rendering, err
	}
	o := t.Options(source)
	o.Root = s.rootOf(dir)
	if u.Tool == delivery.Flux {
		return build(flux.Options(u.By, o))
	}
	o.Inflate = s.charts(ctx, dir)
	return argocd.Folder(source.Settings, dir, o, build)
}

// fails takes a unit that cannot be built for one that is not seen. The root of a repository may not be that of this one, so
// it is no failure that it cannot be built.
func (s *survey) fails(u *delivery.Unit) {
	if !slices.ContainsFunc(u.Sources, func(source delivery.Source) bool { return filepath.Clean(source.Path) == "." }) {
		s.failed = append(s.failed, fmt.Errorf("%s %s: %w", u.By.GetKind(), u.By.GetName(), u.Err))
	}
	u.Failure, u.Unseen, u.Err, u.Objects = files.FailureOf(u.Err), u.Err.Error(), nil, nil
}

// folder finds a path in the repositories of all paths, first in those themselves, then in the folders that were named.
// There is none for a chart.
func (s *survey) folder(path string) (*files.Tree, string) {
	if path == "" || strings.Contains(path, "{{") {
		return nil, ""
	}
	for _, t := range s.trees {
		dir := t.Folder(path)
		if dir != "" && files.Inside(absolute(dir), t.Root) && !files.HasChart(dir) {
			return t, dir
		}
	}
	return nil, ""
}

// charts renders those that the kustomizations of a folder take in.
func (s *survey) charts(ctx context.Context, dir string) func(dir, home string, chart types.HelmChart) ([]byte, error) {
	for _, t := range s.trees {
		if files.Inside(absolute(dir), t.Root) {
			return helm.Renderer{Source: s.source, Tree: t}.Inflate(ctx, nil)
		}
	}
	return nil
}

// rootOf is the repository of a folder.
func (s *survey) rootOf(dir string) string {
	for _, t := range s.trees {
		if files.Inside(dir, t.Root) {
			return t.Root
		}
	}
	return ""
}
