package desired

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// generated are the Applications of an ApplicationSet, as far as its generators can be run without a cluster. Of the others
// there is one unit with the reason.
func (f *follower) generated(ctx context.Context, p pointer) []*delivery.Unit {
	set := p.by
	applications, err := appset.Applications(set, f.tree, f.Clusters)
	if err != nil {
		unseen := &delivery.Unit{Name: kinds.UnitName(p.by, p.parent), Tool: delivery.ArgoCD, By: p.by, Parent: p.parent, Sources: delivery.SourcesOf(set), Unseen: err.Error()}
		f.hideSet(ctx, unseen)
		return []*delivery.Unit{unseen}
	}
	var units []*delivery.Unit
	for _, application := range applications {
		by := &delivery.Object{Unstructured: application.Unstructured, At: func(fields ...string) finding.Place {
			return p.by.Place(delivery.Under([]string{"spec", "template"}, fields...)...)
		}}
		one := pointer{by: by, parent: p.parent}
		if !f.seen[f.key(one)] {
			f.seen[f.key(one)] = true
			unit := f.unit(ctx, one)
			unit.Set = set
			addInput(unit, "what the generators of "+kinds.NameOf(p.by, p.parent)+" read", appset.GeneratorsRead(set))
			units = append(units, unit)
		}
	}
	f.seen[f.key(p)] = true
	return units
}

// mostFolders is how many folders an ApplicationSet that cannot be expanded may be of, to be looked at one by one.
const mostFolders = 100

// hideSet remembers what of this repository decides about an ApplicationSet that cannot be expanded: what matters in all folders
// that its Applications may be of. If files are read for them, or if it may be any folder, it is more.
func (f *follower) hideSet(ctx context.Context, u *delivery.Unit) {
	much := appset.ScopeOf(u.By)
	var folders []string
	for _, source := range u.Sources {
		if source.Path != "" {
			folders = append(folders, f.foldersLike(u.By, source.Path)...)
		}
	}
	isChart := func(s delivery.Source) bool { return s.Path == "" && s.Settings.Text("chart") != "" }
	ofTemplate := appset.HoldsKey(u.By.Field("spec", "generators"), "template")
	if much == files.Wires && len(u.Sources) > 0 && !slices.ContainsFunc(u.Sources, func(s delivery.Source) bool { return !isChart(s) }) && !ofTemplate {
		return // charts of a registry, so nothing in this repository
	}
	if much != files.Wires || len(folders) > mostFolders || ofTemplate || !slices.ContainsFunc(u.Sources, func(s delivery.Source) bool { return s.Path != "" }) {
		f.hiddenOf(u).widen(much)
		return
	}
	for _, source := range u.Sources {
		f.hideNowhere(u, source)
		for _, dir := range f.foldersLike(u.By, source.Path) {
			f.hideFolder(f.hiddenOf(u), dir, func() (*render.Rendering, error) { return f.argoCDFolder(ctx, source, dir, false) })
		}
	}
}

// hideNowhere is for a source that no folder of this repository can be. One that comes counts, and so does all below the part of the
// path that is no template, as a template may give several folders.
func (f *follower) hideNowhere(u *delivery.Unit, source delivery.Source) {
	if source.Path == "" || len(f.foldersLike(u.By, source.Path)) > 0 {
		return
	}
	fixed, _, isTemplated := strings.Cut(source.Path, "{{")
	if isTemplated {
		fixed = path.Dir(fixed + "x")
	}
	if fixed = strings.Trim(path.Clean("/"+fixed), "/"); fixed != "" {
		f.hiddenOf(u).add(f.tree.Absolute(fixed))
	} else if isTemplated || u.Parent == nil || !f.isOther(addressOf(source), u.Parent.Objects) {
		f.hiddenOf(u).widen(files.Wires)
	}
}

// foldersLike are the folders, absolute, that a templated path may become.
func (f *follower) foldersLike(set *delivery.Object, path string) []string {
	return words.Of(appset.FoldersLike(set, path, f.tree.Folders()), f.tree.Absolute)
}
