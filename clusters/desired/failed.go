package desired

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/madeof"
	"github.com/moult-dev/moult/clusters/desired/rights"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// failed remembers what a unit that cannot be built is made of, if that is one folder alone. Manifests that a kustomization names and
// that decide about no CRD are left out, as in a unit that can be built.
func (f *follower) failed(u *delivery.Unit, dir string) {
	if len(u.Sources) != 1 || len(u.Sources[0].Components) > 0 {
		return
	}
	f.hiddenOf(u).failed = true
	f.hideOnce(u, dir)
}

// hideOnce adds what a folder of a unit is made of as soon as all units are there: another one may give rights to the programs in it.
func (f *follower) hideOnce(u *delivery.Unit, dir string) {
	h := f.hiddenOf(u)
	h.late = append(h.late, func() {
		f.hideMade(u, dir, f.decidesNothingIn(dir))
		if u.Err == nil || u.By != nil { // of what is no entry point, perhaps, nothing shows where it leads
			f.widenIfLeading(h, dir)
		}
	})
}

// decidesNothingIn is decidesNothing of manifests in a folder. Beside a role that makes CRDs, programs decide, too: those that a binding gives it to,
// or all if none does.
func (f *follower) decidesNothingIn(dir string) func(*delivery.Object) bool {
	var read []*delivery.Object
	grants := false
	for _, path := range render.Local(dir, f.tree.Root) {
		for _, file := range files.In(path) {
			content, err := render.ReadRegular(file)
			if err != nil || !detect.GrantsCRDs(content) && !bytes.Contains(content, []byte("ClusterRoleBinding")) {
				continue
			}
			grants = grants || detect.GrantsCRDs(content)
			if manifests, err := render.Stream(file, bytes.NewReader(content)); err == nil {
				read = append(read, manifests.Objects...)
			}
		}
	}
	r := rights.Of(f.cluster, read...)
	return func(object *delivery.Object) bool {
		return decidesNothing(object) && !mayMakeCRDs(object, r, grants) && !rights.MakesCRDs(object)
	}
}

// mayMakeCRDs reports whether an object runs a program that may make CRDs, if that is granted, or may be.
func mayMakeCRDs(object *delivery.Object, r *rights.Rights, granted bool) bool {
	for _, value := range crdschema.Each(object.Object) {
		content, _ := value.(map[string]any)
		if content["containers"] == nil {
			continue
		}
		if role, _ := r.RoleOf("", accountOf(delivery.Wrap(content)), true); role != "" || granted && r.AreNone() {
			return true
		}
	}
	return false
}

// widenIfLeading is for a folder that is not built here, but was where its tool runs, or may be. Objects of Flux and Argo CD in it then
// apply other folders, which are not followed.
func (f *follower) widenIfLeading(h *hidden, dir string) {
	leads := func(file string) bool {
		content, err := render.ReadRegular(file)
		if err != nil || !detect.Tool.Match(content) {
			return false
		}
		read, err := render.Stream(file, bytes.NewReader(content))
		return err != nil || slices.ContainsFunc(read.Objects, leadsFurther)
	}
	for _, path := range append(render.Local(dir, f.tree.Root), h.files...) {
		if direct, err := filepath.EvalSymlinks(path); err == nil && slices.ContainsFunc(files.In(direct), leads) {
			h.widen(files.Wires)
			return
		}
	}
}

// leadsFurther reports whether an object of Flux or Argo CD may apply a folder, or a chart in one. A chart of a registry lies in none.
func leadsFurther(object *delivery.Object) bool {
	switch {
	case kinds.IsHelmRelease(object), object.Is("source.toolkit.fluxcd.io", "HelmChart"):
		chart := delivery.ChartOf(object)
		return !chart.ByReference && chart.Source.Kind != "" && chart.Source.Kind != "HelmRepository"
	case object.Is("source.toolkit.fluxcd.io", object.GetKind()):
		return false
	}
	return kinds.Delivers(object) || kinds.Installs(object)
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
