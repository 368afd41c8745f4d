package desired

import (
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/madeof"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// failed remembers what a unit that cannot be built is made of, if that is one folder alone. Manifests that a kustomization names and
// that decide about no CRD are left out, as in a unit that can be built.
func (f *follower) failed(u *delivery.Unit, dir string) {
	if len(u.Sources) != 1 || len(u.Sources[0].Components) > 0 {
		return
	}
	f.hiddenOf(u).failed = true
	f.madeOf(f.hiddenOf(u), []string{dir}, decidesNothing)
	f.hiddenOf(u).widenIfLeading()
}

// widenIfLeading is for a folder that is not built here, but was where its tool runs, or may be. Objects of Flux and Argo CD in it then
// apply other folders, which are not followed.
func (h *hidden) widenIfLeading() {
	leads := func(file string) bool {
		content, err := render.ReadRegular(file)
		return err == nil && detect.Tool.Match(content)
	}
	for _, path := range h.files {
		if direct, err := filepath.EvalSymlinks(path); err == nil && slices.ContainsFunc(files.In(direct), leads) {
			h.widen(files.Wires)
		}
	}
}

// madeOf remembers what folders are built of together, but for manifests that need not be.
func (f *follower) madeOf(h *hidden, dirs []string, needNot func(*delivery.Object) bool) {
	parts := madeof.Folders(f.tree, dirs, slices.Concat([]string{"Service"}, kinds.Decisive), needNot)
	h.files, h.built = append(h.files, parts.Files...), append(h.built, parts.Texts...)
	for _, dir := range dirs { // what they take from a branch of this repository is of this pull request, too
		for own, revision := range render.OwnBases(dir, f.tree.Root, f.tree.Origin()) {
			if base := f.tree.Folder(own); base != "" && !argocd.IsPin(revision) {
				h.files = append(h.files, render.Local(base, f.tree.Root)...)
			}
		}
	}
	slices.Sort(h.files)
}

// decidesNothing reports whether a manifest decides about no CRD.
func decidesNothing(object *delivery.Object) bool {
	crds, unread := object.Inside()
	return !kinds.Matters(object) && !kinds.Installs(object) && len(crds)+len(unread) == 0 && commands.InObject(object) == ""
}

// isCompared is for manifests beside a part that cannot be had: they are among the objects of the unit.
func isCompared(*delivery.Object) bool { return true }
