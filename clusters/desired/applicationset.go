package desired

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// generated are the Applications of an ApplicationSet, as far as its generators can be run without a cluster. Of the others
// there is one unit with the reason.
func (f *follower) generated(ctx context.Context, p pointer) []*delivery.Unit {
	set := p.by
	var around []*delivery.Object
	if p.parent != nil {
		around = p.parent.Objects
	}
	applications, err := appset.Applications(set, f.tree, f.Clusters)
	for _, url := range appset.Addresses(set) {
		if f.isOther(network.Normal(url), around) {
			err = fmt.Errorf("its generator looks at another repository, %s", network.WithoutUser(url))
		}
	}
	if err != nil {
		unseen := &delivery.Unit{Name: kinds.UnitName(p.by, p.parent), Tool: delivery.ArgoCD, By: p.by, Parent: p.parent, Sources: delivery.SourcesOf(set), Unseen: err.Error()}
		f.hideSet(ctx, f.hiddenOf(unseen), set, around)
		return []*delivery.Unit{unseen}
	}
	var units []*delivery.Unit
	for _, application := range applications {
		by := &delivery.Object{Unstructured: application.Unstructured, At: func(fields ...string) finding.Place {
			return p.by.Place(delivery.Under([]string{"spec", "template"}, fields...)...)
		}}
		one := pointer{by: by, parent: p.parent}
		if followed := f.seen[f.key(one)]; followed == nil || f.isAnother(one, followed) {
			f.note(one)
			unit := f.unit(ctx, one)
			unit.Set = set
			addInput(unit, "what the generators of "+kinds.NameOf(p.by, p.parent)+" read", appset.GeneratorsRead(set))
			units = append(units, unit)
		}
	}
	f.note(p)
	return units
}

// mostFolders is how many folders an ApplicationSet that cannot be expanded may be of, to be looked at one by one.
const mostFolders = 100

// hideSet remembers what of this repository decides about an ApplicationSet that cannot be expanded, or an Application that may be
// applied. That is what matters in all folders that it may be of. If files are read for it, or if it may be any folder, it is more. Around it
// are the objects that it is applied with.
func (f *follower) hideSet(ctx context.Context, h *hidden, set *delivery.Object, around []*delivery.Object) {
	much, sources := appset.ScopeOf(set), delivery.SourcesOf(set)
	addresses := append(words.Of(appset.Addresses(set), network.Normal), words.Of(sources, addressOf)...)
	if len(sources) > 0 && !slices.ContainsFunc(addresses, func(url string) bool { return !f.isOther(url, around) }) {
		for _, source := range sources { // the other may be a mirror
			f.hideParts(h, appset.FixedParts(set, source.Path))
		}
		return
	}
	if !f.hideValues(h, set, sources) {
		much = max(much, files.Data)
	}
	var folders []string
	for _, source := range sources {
		if given := appset.GivenBy(set, source, f.tree.Folders()); len(given) > 0 {
			h.built = append(h.built, strings.Join(given, "\n"))
		}
		if source.Path != "" {
			folders = append(folders, f.foldersLike(set, source.Path)...)
		}
	}
	isChart := func(s delivery.Source) bool { // or lends its files alone
		return s.Path == "" && s.Settings.Text("chart")+s.Settings.Text("ref") != ""
	}
	ofTemplate := appset.HoldsKey(set.Field("spec", "generators"), "template")
	isNone := len(sources) == 0 && set.Field(delivery.SpecOf(set)...) == nil // the API server refuses it
	if much == files.Wires && (len(sources) > 0 || isNone) && !slices.ContainsFunc(sources, func(s delivery.Source) bool { return !isChart(s) }) && !ofTemplate {
		return // charts of a registry, so nothing in this repository
	}
	if much != files.Wires || len(folders) > mostFolders || ofTemplate || !slices.ContainsFunc(sources, func(s delivery.Source) bool { return s.Path != "" }) {
		h.widen(much)
		return
	}
	for _, source := range sources {
		f.hideNowhere(h, set, source, around)
		for _, dir := range f.foldersLike(set, source.Path) {
			f.hideOtherwise(h, set, source, dir)
			f.hideFolder(ctx, h, dir, wayOf(source), func() (*render.Rendering, error) {
				return f.argoCDFolder(ctx, nil, source, dir, len(source.Components) == 0)
			})
		}
	}
}

// wayOf is how Argo CD builds the folder of a source, whichever it is.
func wayOf(source delivery.Source) string {
	settings := maps.Clone(source.Settings.Object)
	for _, where := range []string{"path", "repoURL", "targetRevision"} {
		delete(settings, where)
	}
	return jsonOf(settings)
}

// hideOtherwise is for a folder that Argo CD does not build as it lies there. It may do so by Jsonnet, by a source that a file in it overrides, or
// by settings that are templates.
func (f *follower) hideOtherwise(h *hidden, set *delivery.Object, source delivery.Source, dir string) {
	u := &delivery.Unit{By: set}
	if argocd.NotAsItLies(f.tree, u, source.Settings, f.tree.Relative(dir)) != "" {
		f.hideJsonnet(h, u, source.Settings, dir)
	}
	if overrides, _ := filepath.Glob(filepath.Join(dir, ".argocd-source*.yaml")); len(overrides) > 0 {
		h.add(dir)
		h.widen(files.Data)
	}
	if strings.Contains(jsonOf(source.Settings.Field("directory")), "{{") {
		h.add(dir)
	}
	isTemplate := func(patch types.Patch) bool { return strings.Contains(patch.Path, "{{") }
	if slices.ContainsFunc(source.Patches, isTemplate) {
		h.widen(files.Data)
	}
	if strings.Contains(strings.Join(source.Components, " "), "{{") {
		h.widen(files.Wires)
	}
}

// hideNowhere is for a source that no folder of this repository can be. One that comes counts, and so does all below the part of the
// path that is known, as a template may give several folders.
func (f *follower) hideNowhere(h *hidden, set *delivery.Object, source delivery.Source, around []*delivery.Object) {
	if source.Path == "" || len(f.foldersLike(set, source.Path)) > 0 {
		return
	}
	isOther := f.isOther(addressOf(source), around) && !strings.Contains(source.Path, "{{")
	if !f.hideParts(h, appset.FixedParts(set, source.Path)) && !isOther {
		h.widen(files.Wires)
	}
}

// hideParts adds files and folders, and reports whether the root is none of them.
func (f *follower) hideParts(h *hidden, parts []string) bool {
	for _, part := range parts {
		h.add(f.tree.Absolute(part))
	}
	return !slices.Contains(parts, "")
}

// hideValues adds the files of values that sources take from another source, and reports whether it is known which these are. The others
// lie in the chart's folder.
func (f *follower) hideValues(h *hidden, set *delivery.Object, sources []delivery.Source) bool {
	for _, source := range sources {
		for _, file := range source.Settings.Texts("helm", "valueFiles") {
			_, inside, isElsewhere := strings.Cut(file, "/")
			isElsewhere = isElsewhere && strings.HasPrefix(file, "$")
			switch {
			case strings.ContainsAny(file, "*?["), !isElsewhere && (strings.HasPrefix(file, "/") || strings.Contains(file, "..") || strings.Contains(file, "{{")):
				return false
			case isElsewhere && !f.hideLent(h, appset.FixedParts(set, inside), path.Base(inside)):
				return false
			}
		}
	}
	return true
}

// hideLent adds files of values by what their paths may begin with, and their name, and reports whether the root is none of the beginnings.
func (f *follower) hideLent(h *hidden, parts []string, name string) bool {
	for _, part := range parts {
		at := f.tree.Absolute(part)
		if path.Base(part) == name || strings.ContainsAny(name, "{}") {
			h.values = append(h.values, at)
			continue
		}
		_ = f.tree.Each(at, func(string) bool { return false }, func(file string) error { // there are none if there is no such folder
			if filepath.Base(file) == name {
				h.values = append(h.values, file)
			}
			return nil
		})
	}
	return !slices.Contains(parts, "")
}

// foldersLike are the folders, absolute, that a templated path may become.
func (f *follower) foldersLike(set *delivery.Object, path string) []string {
	return words.Of(appset.FoldersLike(set, path, slices.Concat(f.tree.Folders(), f.tree.LinkedFolders())), f.tree.Absolute)
}
