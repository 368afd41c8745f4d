package desired

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// findUnseen lists all that brings what cannot be seen. It comes last, as a source may stand in any unit.
func (f *follower) findUnseen(ctx context.Context) {
	defer f.findSubmodules(ctx) // what is not seen may be built of them, too
	for _, u := range f.cluster.Units {
		h := f.hiddenOf(u)
		for _, add := range h.late {
			add()
		}
		if u.Unseen != "" || h.failed {
			h.inputs, h.lent = u.Inputs, f.lentTo(u)
		}
		if u.Unseen != "" {
			f.unseen(ctx, f.unseenUnit(u), u.Parent, *h)
		}
		if h.failed {
			u.MadeOf = f.fingerprint(delivery.Unseen{By: f.unseenUnit(u).By}, u.Parent, *h)
		}
		for _, object := range u.Objects {
			f.findCommands(object, u)
			f.findPrograms(object, u)
			f.findInstances(object, u)
			switch {
			case f.rendered(object), f.allBuilt(object):
			case kinds.Installs(object):
				f.unseen(ctx, delivery.Unseen{Name: kinds.NameOf(object, u), By: object, Why: kinds.Describe(object)}, u, f.installed(ctx, object))
			case f.tree == nil && kinds.Delivers(object):
				f.unseen(ctx, delivery.Unseen{Name: kinds.NameOf(object, u), By: object, Why: "nothing is followed from " + f.cluster.Name}, u, hidden{})
			}
		}
	}
}

// unseenUnit is a unit as something that is not seen; of an entry point that nothing here applies, it is the folder.
func (f *follower) unseenUnit(u *delivery.Unit) delivery.Unseen {
	if u.By != nil {
		return delivery.Unseen{Name: u.By.GetKind() + " " + u.Name, By: u.By, Why: u.Unseen}
	}
	return delivery.Unseen{Name: "the entry point", By: files.StandIn("Folder", "entry", ""), Why: u.Unseen}
}

// findSubmodules names the submodules of the repository of which something may be built in: those in a folder that was built,
// and those below which a file was looked for. Whether Flux and Argo CD fetch them is a setting of theirs.
func (f *follower) findSubmodules(ctx context.Context) {
	if f.tree == nil {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(f.tree.Submodules)) {
		if f.mayUse(path) {
			f.unseen(ctx, delivery.Unseen{Name: "submodule " + path, By: files.StandIn("Submodule", path, ".gitmodules"), Why: "its content is in another repository"}, nil, hidden{built: []string{f.tree.Submodules[path]}})
		}
	}
}

// mayUse reports whether a unit may be built of what is below a path of the repository.
func (f *follower) mayUse(path string) bool {
	if f.tree.Reads.Below(f.tree.Absolute(path)) {
		return true
	}
	isBelow := func(dir string) bool { return dir == "." || strings.HasPrefix(path, dir+"/") }
	for _, u := range f.cluster.Units {
		isSet := u.Set != nil || u.By != nil && u.By.GetKind() == "ApplicationSet" // its Applications may be of any folder
		if isSet || f.hidden[u] != nil && f.hidden[u].scope != files.Named || u.By != nil && slices.ContainsFunc(u.Dirs, isBelow) {
			return true
		}
	}
	// Nothing says what is applied of an entry point that nothing here applies.
	first := f.cluster.Units[0]
	return first.By == nil && (first.Name == f.tree.Name || slices.ContainsFunc(first.Dirs, isBelow)) && !detect.ForReading(f.tree.Dir, filepath.Join(f.tree.Absolute(path), "it"))
}

func (f *follower) unseen(ctx context.Context, s delivery.Unseen, holder *delivery.Unit, h hidden) {
	f.hideOurs(&h, s.By)
	s.Settled = f.settled(ctx, s, holder, h)
	s.Fingerprint = f.fingerprint(s, holder, h) // without what is lacking: a chart that cannot be had today is the same chart
	if f.releases != nil && f.notRendered[s.By] != nil && !errors.Is(f.notRendered[s.By], charts.ErrNotAsked) {
		s.Why += "; " + files.FailureOf(f.notRendered[s.By])
	}
	s.Offline = files.IsOffline(s.Why) || f.releases != nil && errors.Is(f.notRendered[s.By], charts.ErrOffline)
	f.cluster.Unseen = append(f.cluster.Unseen, s)
}

// hideOurs adds what may be taken of this repository by what is not seen and names it, in other fields than those that are followed. A chart
// may have the address for other ends, so it counts beside a path. That folder is no matter where units are built of it.
func (f *follower) hideOurs(h *hidden, by *delivery.Object) {
	if f.tree == nil || kinds.IsSource(by) || by.GetKind() == "ApplicationSet" || by.Is(crossplane, "CompositeResourceDefinition") { // which is a schema
		return
	}
	origin := network.Normal(f.tree.Origin())
	isOurs := func(value any) bool {
		text, _ := value.(string)
		return origin != "" && strings.Contains(network.Normal(text), origin)
	}
	isChart := kinds.IsHelmRelease(by) || by.GetKind() == "Application"
	isInstance := by.Is("fluxcd.controlplane.io", "FluxInstance") // others may take more than the folder
	withPath := map[string]bool{}
	for at, value := range crdschema.Each(by.Field("spec")) {
		switch v := value.(type) {
		case string:
			if !isChart && isOurs(v) && !withPath[at[:max(0, len(at)-1)].String()] {
				h.widen(files.Wires)
			}
		case map[string]any:
			path, isText := v["path"].(string)
			if isChart && len(at) <= 2 || !isChart && !isInstance || !isText || !slices.ContainsFunc(slices.Collect(maps.Values(v)), isOurs) {
				continue
			}
			withPath[at.String()] = true
			switch dir := f.tree.Folder(path); {
			case dir == "" && v["kind"] == "GitRepository" && !strings.ContainsAny(path, "${"):
				h.add(f.tree.Absolute(path)) // no such folder, so the sync fails until there is one
			case dir == "" || dir == f.tree.Root:
				h.widen(files.Wires)
			case !f.isBuilt(dir):
				h.add(dir)
			}
		}
	}
}

// findCommands notes an object whose commands install or delete what is in no manifest, of whatever kind it is.
func (f *follower) findCommands(object *delivery.Object, u *delivery.Unit) {
	if object.IsCRD() || kinds.Delivers(object) || kinds.IsHelmRelease(object) {
		return
	}
	about := commands.InObject(object)
	if about == "" {
		return
	}
	p := f.newFingerprint()
	p.Write("commands", about)
	p.lent(object.GetNamespace(), "", object.Field("spec")) // variables may be there
	f.cluster.Unseen = append(f.cluster.Unseen, delivery.Unseen{
		Name: delivery.WithoutHash(kinds.NameOf(object, u)), By: object, Why: "a command or an object in it installs, changes or deletes what is in no manifest", Fingerprint: p.Sum(),
	})
}
