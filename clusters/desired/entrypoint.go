package desired

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// entry builds the entry point. If something in it makes a tool apply the entry point itself, as flux bootstrap has it,
// that is the unit.
func (f *follower) entry(ctx context.Context, entry string) (*delivery.Unit, error) {
	entry, values := helm.ValuesOf(entry)
	entry, isLoose := files.IsLoose(entry)
	path := f.entryPath(entry)
	if short, err := filepath.Rel(f.tree.Root, path); err != nil || !filepath.IsLocal(short) {
		return nil, fmt.Errorf("the entry point %s is outside of %s", entry, f.tree.Name)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("there is no entry point %s in %s; name a folder in it", entry, f.tree.Name)
	}
	unit := &delivery.Unit{Name: f.cluster.Name}
	if isLoose {
		return unit, f.readLoose(unit, path)
	}
	if !info.IsDir() && render.KustomizationIn(filepath.Dir(path)) != path {
		return unit, f.readFile(unit, path)
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	if entry != "" && files.HasChart(path) && render.KustomizationIn(path) == "" {
		f.chartEntry(ctx, unit, path, values)
		return unit, nil
	}
	if err := f.buildEntry(ctx, unit, path, entry != ""); err != nil {
		return nil, f.tree.Shorten(err)
	}
	for _, object := range unit.Objects {
		deliveries := delivery.SourcesOf(object)
		if len(deliveries) == 1 && f.tree.Folder(deliveries[0].Path) == path && deliveries[0].Path != "" && !f.isAnothers(object, unit.Objects) {
			if unit := f.unit(ctx, pointer{by: object, last: true}); unit.Err == nil && (unit.Unseen == "" || len(unit.Dirs) > 0) {
				f.widenEntry(unit)
				return unit, nil
			}
		}
	}
	f.widenEntry(unit)
	return unit, nil
}

// widenEntry is for an entry point of which a part cannot be had: what leads further may be in that part, if nothing else does but
// the entry point itself.
func (f *follower) widenEntry(unit *delivery.Unit) {
	leads := func(o *delivery.Object) bool { return kinds.Delivers(o) && (unit.By == nil || !o.Same(unit.By)) }
	if unit.Unseen != "" && !slices.ContainsFunc(unit.Objects, leads) {
		f.hiddenOf(unit).widen(files.Wires)
	}
}

func (f *follower) entryPath(entry string) string {
	if entry == "" {
		return f.tree.Dir
	}
	if filepath.IsAbs(entry) {
		return entry
	}
	path := filepath.Join(f.tree.Dir, entry)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(f.tree.Root, entry)
	}
	return path
}

// failedEntry is the unit of a folder that is no entry point, perhaps, and cannot be built as one.
func (f *follower) failedEntry(entry string, err error) *delivery.Unit {
	unit := &delivery.Unit{Name: f.cluster.Name, Err: err}
	f.hiddenOf(unit).failed = true
	f.hideOnce(unit, f.entryPath(entry))
	return unit
}

func (f *follower) readFile(unit *delivery.Unit, path string) error {
	f.tree.Reads.File(path)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	rendering, err := render.Stream(path, file)
	if err != nil {
		return f.tree.Shorten(err)
	}
	unit.Objects = files.Placed(rendering, f.tree.Place)
	return nil
}

// buildEntry builds as Flux does. An entry point that has no kustomization, and files beside its manifests that Flux does
// not accept, is read as Argo CD does, without what lies in folders below. It has to hold something of Argo CD for that, or
// no folders with manifests: what Flux applies of them would be nowhere.
//
// If no entry point was named, folders for reading are left out: their manifests are examples, and of no cluster.
//
// A snapshot that lies in the folder is left out. Without an entry point nothing shows that the folder is applied as it is.
// Named as one, it is, and then its tool stumbles over the file.
func (f *follower) buildEntry(ctx context.Context, unit *delivery.Unit, dir string, named bool) error {
	var snapshots, read []string
	o := render.Options{Root: f.tree.Root, Network: f.Network, Note: func(file string) { read = append(read, file) }, LeaveOut: func(file string, content []byte) bool {
		if !named && detect.ForReading(dir, file) {
			return true
		}
		if !isSnapshot(content) {
			return false
		}
		if !slices.Contains(snapshots, file) {
			snapshots = append(snapshots, file)
		}
		return true
	}}
	if named { // a whole repository most often fails at once
		o.Builds, o.Partly, o.Inflate = f.Builds, true, f.charts.Inflate(ctx, unit) // with charts it is Argo CD's: Flux would fail
	}
	rendering, err := render.Folder(dir, o)
	if err != nil && named && render.KustomizationIn(dir) == "" {
		if plain, plainErr := render.Directory(dir, render.DirectoryOptions{Root: f.tree.Root, Note: f.tree.Reads.File}); plainErr == nil && len(plain.Objects) > 0 && !leavesOut(dir, plain) {
			rendering, err, read = plain, nil, nil // what is below is not of it
		}
	}
	for _, file := range read {
		f.tree.Reads.File(file)
	}
	if err != nil && named && f.hide(unit, dir, err) { // what a whole repository lacks is asked about where it changes
		return nil
	}
	if err != nil {
		return err
	}
	f.hideRest(unit, dir, rendering)
	unit.Dirs = []string{f.tree.Relative(dir)}
	unit.Objects = files.Placed(rendering, f.tree.Place)
	if named {
		f.reportSnapshots(snapshots)
		unit.Objects = append(unit.Objects, f.inJSON(dir, rendering)...)
	}
	return nil
}

// inJSON are the manifests in JSON of an entry point that Argo CD applies, as something of its own in it shows: Flux does not take
// them.
func (f *follower) inJSON(dir string, built *render.Rendering) []*delivery.Object {
	if render.KustomizationIn(dir) != "" {
		return nil
	}
	plain, err := render.Directory(dir, render.DirectoryOptions{Root: f.tree.Root, Note: f.tree.Reads.File, Include: "*.json"})
	isArgoCDs := func(o *delivery.Object) bool { return delivery.ToolOf(o) == delivery.ArgoCD }
	if err != nil || !slices.ContainsFunc(slices.Concat(built.Objects, plain.Objects), isArgoCDs) {
		return nil // a file that is no manifest is for the tool to refuse
	}
	return slices.DeleteFunc(files.Placed(plain, f.tree.Place), func(o *delivery.Object) bool { return slices.ContainsFunc(built.Objects, o.Same) })
}

// isSnapshot reports whether a file is one that moult snapshot wrote. It is kept in many a repository, and no cluster gets
// it.
func isSnapshot(content []byte) bool {
	if !bytes.Contains(content, []byte(snapshotKind)) {
		return false
	}
	var head metav1.TypeMeta
	return unpacking.Unmarshal(content, &head) == nil && head.Kind == snapshotKind && strings.HasPrefix(head.APIVersion, "preview.moult.dev/")
}

const snapshotKind = "ClusterSnapshot"

// leavesOut reports whether manifests in folders below would be missed that somebody else than Argo CD may apply.
func leavesOut(dir string, plain *render.Rendering) bool {
	isArgoCDs := func(o *delivery.Object) bool { return delivery.ToolOf(o) == delivery.ArgoCD }
	if slices.ContainsFunc(plain.Objects, isArgoCDs) {
		return false
	}
	missed := false
	err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		missed = missed || filepath.Dir(file) != dir && files.IsData(file)
		return err
	})
	return missed || err != nil
}

// chartEntry fills a unit with what a chart makes, as somebody installs it by hand: an app of apps, as a rule.
func (f *follower) chartEntry(ctx context.Context, unit *delivery.Unit, dir string, valueFiles []string) {
	unit.Dirs = []string{f.tree.Relative(dir)}
	if err := f.charts.AddEntry(ctx, unit, dir, valueFiles); err != nil {
		unit.Unseen = "it is a chart that cannot be rendered: " + files.FailureOf(f.tree.Shorten(err))
		h := f.hiddenOf(unit)
		h.charts = append(h.charts, dir)
		for _, file := range valueFiles {
			h.values = append(h.values, filepath.Join(dir, filepath.FromSlash(file)), f.tree.Absolute(file))
		}
	}
}
