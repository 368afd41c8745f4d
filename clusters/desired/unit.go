package desired

import (
	"cmp"
	"context"
	"fmt"

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
	if err != nil && !f.hide(u, dir, err) {
		u.Err = f.tree.Shorten(err)
		f.failed(u, dir)
	}
	if err != nil {
		return
	}
	u.Dirs = append(u.Dirs, f.tree.Relative(dir))
	u.Objects = append(u.Objects, files.Placed(rendering, f.tree.Place)...)
}

// hide makes a unit unseen that may well be built where its tool runs, and reports whether it is one.
func (f *follower) hide(u *delivery.Unit, dir string, err error) bool {
	why := cmp.Or(render.OnlyHere(err), f.tree.LacksSubmodule())
	if why == "" {
		return false
	}
	u.Unseen = why
	f.hiddenOf(u).files = append(f.hiddenOf(u).files, render.Local(dir, f.tree.Root)...)
	return true
}

// options are what a delivery adds to a folder.
func (f *follower) options(d delivery.Source) render.Options {
	o := f.tree.Options(d)
	o.Network, o.Builds = f.Network, f.Builds
	return o
}
