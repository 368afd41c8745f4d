package scan

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// EntryPoints are the folders below what a tree was opened for that look like entry points of clusters. They hold
// Flux Kustomizations or Argo CD Applications, and none of these applies them, except for itself as flux bootstrap has it.
// They are relative to what the tree was opened for, which is what Follow takes.
//
// Folders that are for reading, such as docs and examples, are passed over, and so are tests, but for an environment of that name.
//
// There are none if that is a file, a kustomization, or an entry point itself: then it says what is applied. It is a guess
// from the files as they lie there, good enough to ask for a name and not to decide by.
func EntryPoints(t *repository.Tree) ([]string, error) {
	info, err := os.Stat(t.Dir)
	if err != nil || !info.IsDir() || render.KustomizationIn(t.Dir) != "" {
		return nil, err
	}
	e := &entryPoints{tree: files.Of(t), known: flux.ObjectsOf(&delivery.Cluster{Units: []*delivery.Unit{{}}}), files: map[string][]string{}, kustomized: map[string][]string{}}
	if err := filepath.WalkDir(t.Dir, e.visit); err != nil {
		return nil, err
	}
	for _, one := range e.delivering {
		e.add(one.file, one.object)
	}
	var found []string
	for _, dir := range e.candidates() {
		if dir == t.Dir {
			return nil, nil
		}
		short, err := filepath.Rel(t.Dir, dir)
		if err != nil || !filepath.IsLocal(short) {
			return nil, nil //nolint:nilerr // it is inside of one
		}
		found = append(found, filepath.ToSlash(short))
	}
	return found, nil
}

// entryPoints is a search under way. All folders are absolute.
type entryPoints struct {
	tree *files.Tree
	// known are the sources of Flux, and delivering are the Kustomizations and Applications, with their files.
	known      flux.Objects
	delivering []delivering
	// sources are the files with those.
	sources []string
	// holders are folders with Kustomizations or Applications, around those that one in them applies, and targets the others that are
	// applied.
	holders, targets []string
	// synced are folders that a FluxInstance applies.
	synced []string
	around []around
	// files are those with the Kustomizations or Applications, by their folders.
	files map[string][]string
	// kustomized are the folders of kustomizations, each with all that it may be built of.
	kustomized map[string][]string
}

type delivering struct {
	file   string
	object *delivery.Object
}

// around is a folder, and the file in it or below of what applies it. That applies itself if the folder is built of it.
type around struct{ dir, file string }

func (e *entryPoints) visit(file string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case render.KustomizationIn(filepath.Dir(file)) == file && !render.IsComponent(file):
		e.kustomized[filepath.Dir(file)] = render.Local(filepath.Dir(file), e.tree.Root)
	}
	switch {
	case entry.IsDir() && file != e.tree.Dir && (strings.HasPrefix(entry.Name(), ".") || detect.IsForReading(file)):
		return filepath.SkipDir
	case !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(filepath.ToSlash(file))):
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil || !detect.Tool.Match(content) {
		return err
	}
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil {
		return nil //nolint:nilerr // a template, for example; whoever builds it says what is wrong
	}
	for _, object := range read.Objects {
		switch {
		case object.Is("fluxcd.controlplane.io", "FluxInstance") && !files.IsTemplateOfChart(file):
			e.synced = append(e.synced, e.syncedBy(object)...)
		case object.Is("source.toolkit.fluxcd.io", object.GetKind()):
			e.known.Units[0].Objects = append(e.known.Units[0].Objects, object)
			e.sources = append(e.sources, file)
		case kinds.Delivers(object) && !files.IsTemplateOfChart(file):
			e.delivering = append(e.delivering, delivering{file, object})
		}
	}
	return nil
}

// syncedBy is the folder that a FluxInstance has synced, if that is one of this repository.
func (e *entryPoints) syncedBy(instance *delivery.Object) []string {
	sync := delivery.Wrap(map[string]any{"sync": instance.Field("spec", "sync")})
	dir, url := e.tree.Folder(sync.Text("sync", "path")), network.Normal(sync.Text("sync", "url"))
	origin := network.Normal(e.tree.Origin())
	if sync.Text("sync", "kind") != "GitRepository" || dir == "" || dir == e.tree.Root || origin != "" && url != origin {
		return nil
	}
	return []string{dir}
}

func (e *entryPoints) add(file string, object *delivery.Object) {
	holder := filepath.Dir(file)
	if !slices.Contains(e.files[holder], file) {
		e.files[holder] = append(e.files[holder], file)
	}
	if !slices.Contains(e.holders, holder) {
		e.holders = append(e.holders, holder)
	}
	for _, source := range delivery.SourcesOf(object) {
		dir := e.tree.Folder(source.Path)
		switch {
		case dir == "" || source.Path == "" || strings.Contains(source.Path, "{{"):
		case files.Inside(holder, dir):
			if e.isOfAnother(object, dir) {
				continue
			}
			if appliesBelow(object, source, dir) || holder == dir {
				e.around = append(e.around, around{dir, file})
			}
		default:
			e.targets = append(e.targets, dir)
		}
	}
}

// isOfAnother reports whether a Kustomization of Flux takes the root of another repository, or names no source, as a patch of one does.
// Each repository has a root, so its path alone does not show that it applies this one.
func (e *entryPoints) isOfAnother(by *delivery.Object, dir string) bool {
	if dir != e.tree.Root || delivery.ToolOf(by) != delivery.Flux {
		return false
	}
	elsewhere, pinned := e.known.SourceIsHere(by.SourceRef())
	return elsewhere != "" || pinned != "" || by.Field("spec", "sourceRef") == nil
}

// appliesBelow reports whether what lies in folders below is applied, too. Argo CD takes only the files of the folder itself
// if the Application does not ask it to recurse. So an Application with the path of a whole repository does not apply
// itself. With a kustomization, that says what is applied.
// https://argo-cd.readthedocs.io/en/stable/user-guide/directory/
func appliesBelow(by *delivery.Object, s delivery.Source, dir string) bool {
	return delivery.ToolOf(by) != delivery.ArgoCD || s.Recurse || render.KustomizationIn(dir) != ""
}

// candidates are the outermost folders that hold something and are not applied by something else.
func (e *entryPoints) candidates() []string {
	var all []string
	for _, self := range e.around {
		if parts := e.kustomized[self.dir]; parts == nil || slices.Contains(parts, self.file) {
			all = append(all, self.dir)
		} else {
			e.targets = append(e.targets, self.dir)
		}
	}
	all = append(all, e.synced...)
	for _, holder := range e.aroundHolders() {
		if !slices.ContainsFunc(e.targets, func(target string) bool { return e.applies(target, holder) }) {
			all = append(all, holder)
		}
	}
	if len(all) == 0 {
		all = e.holders // all of them apply one another; somebody has to say where it begins
	}
	slices.Sort(all)
	var outermost []string
	for _, dir := range slices.Compact(all) {
		if !slices.ContainsFunc(outermost, func(around string) bool { return files.Inside(dir, around) }) {
			outermost = append(outermost, dir)
		}
	}
	return e.aroundSources(outermost)
}

// aroundSources takes the folder around several entry points in their place, if the sources that they take charts from lie in it beside them:
// it is applied as a whole.
func (e *entryPoints) aroundSources(found []string) []string {
	beside := func(dir string) bool {
		siblings := 0
		for _, one := range found {
			if filepath.Dir(one) == dir {
				siblings++
			}
		}
		return siblings > 1 && dir != e.tree.Dir && slices.ContainsFunc(e.sources, func(file string) bool {
			around := func(folder string) bool { return files.Inside(file, folder) }
			return files.Inside(file, dir) && !slices.ContainsFunc(found, around) && !slices.ContainsFunc(e.targets, around)
		})
	}
	var all []string
	for _, one := range found {
		if dir := filepath.Dir(one); beside(dir) {
			one = dir
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// applies reports whether what a tool takes from a folder may hold a folder, or a file that no kustomization is built of.
func (e *entryPoints) applies(target, holder string) bool {
	return files.Inside(holder, target) && (e.kustomized[target] == nil || !slices.Contains(e.files[filepath.Dir(holder)], holder))
}

// aroundHolders are the holders, and in place of one that kustomizations of other folders are built of the outermost of these:
// they are what is applied.
func (e *entryPoints) aroundHolders() (all []string) {
	around := map[string][]string{} // by a folder, those of which kustomizations are built of it
	for _, dir := range slices.Sorted(maps.Keys(e.kustomized)) {
		for _, file := range e.kustomized[dir] {
			if part := filepath.Dir(file); part != dir && !files.Inside(part, dir) && !slices.Contains(around[part], dir) {
				around[part] = append(around[part], dir)
			}
		}
	}
	for _, holder := range e.holders {
		if file := e.appliedAlone(holder); file != "" {
			all = append(all, file)
			continue
		}
		outermost := slices.DeleteFunc(slices.Clone(around[holder]), func(dir string) bool {
			return len(around[dir]) > 0 || slices.ContainsFunc(e.targets, func(target string) bool { return files.Inside(dir, target) })
		})
		if len(outermost) == 0 {
			outermost = []string{e.builtBy(holder)}
		}
		all = append(all, outermost...)
	}
	return all
}

// builtBy is the only folder above a holder whose kustomization is built of all files of the holder, else the holder itself. What it adds, as
// a namespace, is part of what is applied.
func (e *entryPoints) builtBy(holder string) string {
	above := ""
	for dir, parts := range e.kustomized {
		built := slices.DeleteFunc(slices.Clone(e.files[holder]), func(file string) bool { return !slices.Contains(parts, file) })
		switch {
		case dir == holder, len(built) > 0 && (above != "" || len(built) < len(e.files[holder])):
			return holder
		case len(built) > 0 && dir != e.tree.Dir && files.Inside(holder, dir):
			above = dir
		}
	}
	return cmp.Or(above, holder)
}

// appliedAlone is the only file of a holder, if it lies beside a kustomization and none is built of it. A person applies such a file
// once, and the kustomization need not lead anywhere. Empty for all others.
func (e *entryPoints) appliedAlone(holder string) string {
	if len(e.files[holder]) != 1 || e.kustomized[holder] == nil {
		return ""
	}
	file := e.files[holder][0]
	for _, parts := range e.kustomized {
		if slices.Contains(parts, file) {
			return ""
		}
	}
	return file
}
