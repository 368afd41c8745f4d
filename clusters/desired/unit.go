package desired

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// units are what an object makes its tool apply: one, or with an ApplicationSet as many as it generates.
func (f *follower) units(ctx context.Context, p pointer) []*delivery.Unit {
	if p.by.GetKind() == "ApplicationSet" {
		return f.generated(ctx, p)
	}
	return []*delivery.Unit{f.unit(ctx, p)}
}

// unit builds what a Kustomization or an Application applies.
func (f *follower) unit(ctx context.Context, p pointer) *delivery.Unit {
	u := &delivery.Unit{Name: kinds.UnitName(p.by, p.parent), Tool: delivery.ToolOf(p.by), By: p.by, Parent: p.parent, Sources: delivery.SourcesOf(p.by), DependsOn: flux.DependsOn(p.by)}
	if u.Tool == delivery.Flux {
		f.flux(ctx, u)
	} else {
		f.argoCD(ctx, u)
	}
	return u
}

// build adds a folder to a unit.
func (f *follower) build(u *delivery.Unit, path string, build func(dir string) (*render.Rendering, error)) {
	dir := f.tree.Folder(path)
	if dir == "" {
		u.Unseen = fmt.Sprintf("there is no folder %s in this repository", path)
		f.tree.Reads.File(f.tree.Absolute(path))
		return
	}
	rendering, err := build(dir)
	switch {
	case err == nil:
	case f.hide(u, dir, err):
		return
	case f.isToBeCompleted(u, dir):
		u.Unseen = "it names no path, and the whole repository cannot be built, so another manifest completes it"
		return
	default:
		u.Err = f.tree.Shorten(err)
		f.failed(u, dir)
		return
	}
	f.hideRest(u, dir, rendering)
	u.Dirs = append(u.Dirs, f.tree.Relative(dir))
	u.Objects = append(u.Objects, files.Placed(rendering, f.tree.Place)...)
}

// isToBeCompleted is for a Kustomization without a path, in an entry point that is a guess: a base for overlays, or a patch of one. By itself
// it would be of the whole repository.
func (f *follower) isToBeCompleted(u *delivery.Unit, dir string) bool {
	return f.Guessed && u.Tool == delivery.Flux && u.By.Text("spec", "path") == "" && dir == f.tree.Root && render.KustomizationIn(dir) == ""
}

// hide makes a unit unseen that may well be built where its tool runs, and reports whether it is one.
func (f *follower) hide(u *delivery.Unit, dir string, err error) bool {
	why := cmp.Or(render.OnlyHere(err), f.tree.LacksSubmodule())
	if why == "" {
		return false
	}
	u.Unseen = why
	f.hideOnce(u, dir)
	return true
}

// hideRest remembers what decides about the part of a folder that could not be built. Manifests beside it are among the unit's
// objects, unless Kustomize may copy from them, or put their names into others.
func (f *follower) hideRest(u *delivery.Unit, dir string, built *render.Rendering) {
	if built.Lacks == "" {
		return
	}
	u.Unseen = built.Lacks
	f.hideMade(u, dir, isCompared)
}

// hideMade remembers what a folder of a unit is built of, and the components that its tool adds, but for manifests that need not be.
func (f *follower) hideMade(u *delivery.Unit, dir string, needNot func(*delivery.Object) bool) {
	dirs := []string{dir}
	for _, source := range u.Sources {
		for _, component := range source.Components {
			dirs = append(dirs, filepath.Join(dir, filepath.FromSlash(component)))
		}
	}
	f.madeOf(f.hiddenOf(u), dirs, needNot)
}

// options are what a delivery adds to a folder.
func (f *follower) options(d delivery.Source) render.Options {
	o := f.tree.Options(d)
	o.Network, o.Builds = f.Network, f.Builds
	return o
}
