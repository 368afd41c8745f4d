package desired

import (
	"cmp"
	"fmt"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// units are what an object makes its tool apply: one, or with an ApplicationSet as many as it generates.
func (f *follower) units(p pointer) []*delivery.Unit {
	if p.by.GetKind() == "ApplicationSet" && f.survey == nil {
		return f.generated(p)
	}
	return []*delivery.Unit{f.unit(p)}
}

// unit builds what a Kustomization or an Application applies.
func (f *follower) unit(p pointer) *delivery.Unit {
	u := &delivery.Unit{Name: unitName(p), Tool: delivery.ToolOf(p.by), By: p.by, Parent: p.parent, Sources: delivery.SourcesOf(p.by), DependsOn: dependsOn(p.by)}
	switch {
	case f.survey != nil:
		f.folders(u)
	case u.Tool == delivery.Flux:
		f.flux(u)
	default:
		f.argoCD(u)
	}
	return u
}

// folders builds those that a unit's sources name, wherever the sources say that these are.
func (f *follower) folders(u *delivery.Unit) {
	for _, source := range u.Sources {
		f.build(u, source.Path, func(dir string) (*render.Rendering, error) {
			if u.Tool == delivery.Flux {
				return f.folderOf(u, dir, f.fluxOptions(u, source), source)
			}
			return f.argoCDFolder(u, source, dir)
		})
	}
	if u.Err != nil {
		u.Objects = nil
	}
}

// build adds a folder to a unit.
func (f *follower) build(u *delivery.Unit, path string, build func(dir string) (*render.Rendering, error)) {
	dir := f.folder(path)
	if dir == "" {
		u.Unseen = fmt.Sprintf("there is no folder %s in this repository", path)
		if f.survey == nil {
			f.tree.Reads.File(f.tree.Absolute(path))
		}
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
	u.Objects = append(u.Objects, f.objects(u, rendering)...)
}

// hide makes a unit unseen that may well be built where its tool runs, and reports whether it is one.
func (f *follower) hide(u *delivery.Unit, dir string, err error) bool {
	if f.survey != nil {
		return false
	}
	why := cmp.Or(render.OnlyHere(err), f.tree.LacksSubmodule())
	if why == "" {
		return false
	}
	u.Unseen = why
	f.hiddenOf(u).files = append(f.hiddenOf(u).files, render.Local(dir, f.tree.Root)...)
	return true
}

// failed remembers what a unit that cannot be built is made of, if that is the folder of a kustomization alone.
func (f *follower) failed(u *delivery.Unit, dir string) {
	if f.survey == nil && len(u.Sources) == 1 && len(u.Sources[0].Components) == 0 && render.KustomizationIn(dir) != "" {
		h := f.hiddenOf(u)
		h.files, h.failed = render.Local(dir, f.tree.Root), true
	}
}

// folder finds a path that is applied; empty if there is no such folder.
func (f *follower) folder(path string) string {
	if f.survey != nil {
		return f.survey.folder(path)
	}
	return f.tree.Folder(path)
}

// rootOf is the folder that nothing is read outside of.
func (f *follower) rootOf(dir string) string {
	if f.survey != nil {
		return f.survey.rootOf(dir)
	}
	return f.tree.Root
}

// folderOf builds a folder with what a source adds. In a survey, it is found out how far patches reach.
func (f *follower) folderOf(u *delivery.Unit, dir string, o render.Options, s delivery.Source) (*render.Rendering, error) {
	if f.survey == nil {
		return render.Folder(dir, o)
	}
	o.Root = f.rootOf(dir)
	rendering, patches, err := buildAndProbe(dir, o, s.PatchesField, f.survey.labelKey)
	u.Patches = append(u.Patches, patches...)
	return rendering, err
}

func (f *follower) objects(u *delivery.Unit, rendering *render.Rendering) []*delivery.Object {
	if f.survey == nil {
		return files.Placed(rendering, f.tree.Place)
	}
	f.files[u] = append(f.files[u], rendering.Files...)
	return files.Placed(rendering, asWritten)
}

// options are what a delivery adds to a folder.
func (f *follower) options(d delivery.Source) render.Options {
	return render.Options{
		Components: d.Components, IgnoreMissingComponents: d.IgnoreMissingComponents, Labels: d.Labels, Root: f.tree.Root,
		Patches: d.Patches, Network: f.network, Note: f.tree.Note(), Builds: f.builds,
	}
}
