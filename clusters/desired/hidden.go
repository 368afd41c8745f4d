package desired

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/artifact"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/rights"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// hidden is what of this repository decides about objects that are not seen.
type hidden struct {
	// files are files and folders, absolute; built are objects that were built, and are not the cluster's own.
	files, built []string
	// charts are folders of charts, and values files of values for them, absolute. What decides about containers alone is not among it.
	charts, values []string
	// readable are files and folders, absolute, that a program may read for itself.
	readable []string
	// inputs are those of the unit.
	inputs map[string]string
	// lent are objects of other units that they may take something from.
	lent []*delivery.Object
	// scope is how much of the repository decides, beside files.
	scope files.Scope
	// folders are those that were built, with how.
	folders []string
	// failed: the files are those of a unit that could not be built.
	failed bool
	// late adds what takes all units to know.
	late []func()
}

// hiddenOf is what is known so far, to be added to.
func (f *follower) hiddenOf(u *delivery.Unit) *hidden {
	if f.hidden[u] == nil {
		f.hidden[u] = &hidden{}
	}
	return f.hidden[u]
}

func (h *hidden) widen(to files.Scope) { h.scope = max(h.scope, to) }

func (h *hidden) add(path string) {
	if path != "" {
		h.files = append(h.files, path)
	}
}

// addBelowRoot adds a folder that is said to be in another repository, if this one has it, too: the other may be a mirror of
// this one.
func (h *hidden) addBelowRoot(t *files.Tree, path string) {
	if dir := t.Folder(path); dir != t.Root && dir != t.Dir {
		h.add(dir)
	}
}

// chartOf is the chart of a HelmRelease, or of Flux's HelmChart, that lies in this repository, and the values beside it.
func (f *follower) chartOf(object *delivery.Object) hidden {
	var h hidden
	chart := delivery.ChartOf(object)
	name := chart.Text("chart")
	if f.tree == nil || name == "" || chart.Source.Kind == "HelmRepository" {
		return h
	}
	h.add(f.tree.Folder(name))
	if strings.HasSuffix(name, ".tgz") {
		h.add(f.tree.Absolute(strings.TrimPrefix(path.Clean("/"+name), "/")))
	}
	h.inputs = f.tree.IgnoringFiles()
	for _, file := range chart.Texts("valuesFiles") {
		h.add(f.tree.Absolute(strings.TrimPrefix(file, "/")))
	}
	return h
}

// hideChart remembers the chart of an Application and the files of values and parameters that it takes. They are in the chart's
// folder, at the root of the repository if they begin with a slash, or with $name/ in another source, which may be this
// repository. All files count that a pattern, or a variable of the build, may stand for.
// https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#glob-patterns-in-value-files
func (f *follower) hideChart(u *delivery.Unit, source *delivery.Object, dir string) {
	h := f.hiddenOf(u)
	if dir != "" {
		h.charts = append(h.charts, dir)
	}
	named := source.Texts("helm", "valueFiles")
	for _, parameter := range source.Entries("helm", "fileParameters") {
		named = append(named, parameter.Text("path"))
	}
	for _, file := range named {
		inside, below := file, dir
		if elsewhere, found := strings.CutPrefix(file, "$"); found {
			_, inside, _ = strings.Cut(elsewhere, "/")
			below = f.tree.Root
		} else if absolute, found := strings.CutPrefix(file, "/"); found {
			inside, below = absolute, f.tree.Root
		}
		switch {
		case inside == "":
			h.widen(files.Data)
		case strings.ContainsAny(inside, "*?[{$"):
			h.values = append(h.values, f.tree.Matching(below, inside)...)
		case below == f.tree.Root:
			h.values = append(h.values, f.tree.Absolute(inside))
		case below != "":
			h.values = append(h.values, filepath.Join(below, filepath.FromSlash(inside)))
		}
	}
	if dir != "" && len(argocd.Overrides(u, dir)) > 0 {
		h.widen(files.Data) // they may name other files of values
	}
}

// hideJsonnet remembers a folder of Jsonnet, and what that imports.
func (f *follower) hideJsonnet(h *hidden, u *delivery.Unit, source *delivery.Object, dir string) {
	imported, areAll := argocd.Imported(f.tree, u, source, dir)
	for _, file := range append(imported, dir) {
		h.add(file)
	}
	if !areAll {
		h.widen(files.Data)
	}
}

// hideBuild builds what goes to another cluster, to tell whether what matters in it changes.
func (f *follower) hideBuild(ctx context.Context, u *delivery.Unit, d delivery.Source) {
	dir := f.tree.Folder(d.Path)
	if dir == "" {
		return
	}
	f.hideFolder(ctx, f.hiddenOf(u), dir, jsonOf(u.By.Field("spec")), func() (*render.Rendering, error) { return render.Folder(dir, f.fluxOptions(u, d)) })
}

// hideFolder builds a folder that may be a unit's, to see whether what matters in it changes. The values of a chart are
// not known. A folder that leads back to itself is built once in each way.
func (f *follower) hideFolder(ctx context.Context, h *hidden, dir, way string, build func() (*render.Rendering, error)) {
	if slices.Contains(h.folders, dir+way) {
		return
	}
	if h.folders = append(h.folders, dir+way); len(h.folders) > kinds.MostUnits {
		h.widen(files.Wires)
		return
	}
	if files.HasChart(dir) {
		h.add(dir)
		if render.KustomizationIn(dir) == "" {
			return
		}
	}
	rendering, err := build()
	if err != nil {
		made := hidden{files: render.Local(dir, f.tree.Root)}
		f.widenIfLeading(&made, dir)
		h.files = append(h.files, made.files...)
		h.widen(made.scope)
		return
	}
	if rendering.Lacks != "" {
		f.madeOf(h, []string{dir}, isCompared)
	}
	installs, running := slices.ContainsFunc(rendering.Objects, kinds.Installs), ""
	for _, object := range rendering.Objects {
		if commands.InObject(object) != "" {
			running += jsonOf(object.Object)
		}
	}
	can := rights.Of(f.cluster, rendering.Objects...)
	for _, object := range rendering.Objects {
		if _, program := f.program(can, object, nil); program != "" {
			h.built = append(h.built, f.tree.Relative(dir)+": "+program)
		}
		raw, err := object.MarshalJSON()
		isNamed := installs || kinds.IsKept(object) && strings.Contains(running, delivery.WithoutHash(object.GetName()))
		if isReferredTo := isNamed && slices.Contains(kinds.Decisive, object.GetKind()); err == nil && (isReferredTo || !decidesNothing(object)) {
			h.built = append(h.built, f.tree.Relative(dir)+": "+string(raw)) // another folder may be another cluster's
		}
		if kinds.IsHelmRelease(object) {
			h.files = append(h.files, f.chartOf(object).files...)
		}
		switch {
		case delivery.ToolOf(object) == delivery.ArgoCD:
			f.hideSet(ctx, h, object, rendering.Objects)
		case kinds.Delivers(object):
			h.widen(files.Wires)
		}
	}
}

// installed is what of this repository decides about what an object installs.
func (f *follower) installed(ctx context.Context, object *delivery.Object) hidden {
	h := f.chartOf(object)
	if f.tree == nil {
		return h
	}
	switch {
	case object.Is("fluxcd.controlplane.io", "ResourceSet"):
		f.hideResourceSet(ctx, &h, object)
	case object.Is("fluxcd.controlplane.io", "FluxInstance"):
		f.hideSync(ctx, &h, object)
	case object.Is("source.extensions.fluxcd.io", "ArtifactGenerator"):
		h.widen(artifact.ScopeOf(object))
	default:
		f.addFolders(&h, object.Field("spec"))
	}
	return h
}

// addFolders adds the folders of this repository that fields such as path and dir name, wherever they stand.
func (f *follower) addFolders(h *hidden, value any) {
	for at, value := range crdschema.Each(value) {
		if _, isItem := at.Last().(int); isItem {
			at = at[:len(at)-1]
		}
		if path, is := value.(string); is && slices.Contains([]any{"path", "paths", "dir", "subPath"}, at.Last()) {
			h.addBelowRoot(f.tree, path)
		}
	}
}

// isBuilt reports whether a unit is built of a folder, or of one in or around it.
func (f *follower) isBuilt(dir string) bool {
	return slices.ContainsFunc(f.cluster.Units, func(u *delivery.Unit) bool {
		return slices.ContainsFunc(u.Dirs, func(built string) bool {
			return files.Inside(f.tree.Absolute(built), dir) || files.Inside(dir, f.tree.Absolute(built))
		})
	})
}

// hideSync adds what matters in the folder that a FluxInstance has synced, if no unit is built of it: most of them lie in that folder.
func (f *follower) hideSync(ctx context.Context, h *hidden, instance *delivery.Object) {
	dir := f.tree.Folder(instance.Text("spec", "sync", "path"))
	if dir != "" && !f.isBuilt(dir) && instance.Text("spec", "sync", "kind") == "GitRepository" {
		f.hideFolder(ctx, h, dir, "", func() (*render.Rendering, error) { return render.Folder(dir, f.options(delivery.Source{})) })
	}
}

// hideResourceSet adds what matters in the folders that the Kustomizations and Applications of a ResourceSet may be of, whatever its
// inputs are.
func (f *follower) hideResourceSet(ctx context.Context, h *hidden, set *delivery.Object) {
	if text := set.Text("spec", "resourcesTemplate"); detect.Tool.MatchString(text) {
		h.widen(files.Wires)
	}
	for _, resource := range set.Entries("spec", "resources") {
		if from := resource.SourceRef(); from.Kind != "" && from.Kind != "GitRepository" {
			continue
		}
		u := &delivery.Unit{Name: resource.GetName(), Tool: delivery.ToolOf(resource), By: resource}
		for _, source := range delivery.SourcesOf(resource) {
			path := strings.NewReplacer("<<", "{{", ">>", "}}").Replace(source.Path)
			folders := f.foldersLike(set, path)
			if len(folders) > mostFolders {
				h.widen(files.Wires)
				continue
			}
			for _, dir := range folders {
				f.hideFolder(ctx, h, dir, jsonOf(resource.Field("spec")), func() (*render.Rendering, error) {
					if u.Tool == delivery.Flux {
						return render.Folder(dir, f.fluxOptions(u, source))
					}
					return f.argoCDFolder(ctx, nil, source, dir, false)
				})
			}
		}
	}
}
