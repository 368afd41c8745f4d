package desired

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// argoCD fills a unit with what Argo CD would apply.
func (f *follower) argoCD(ctx context.Context, u *delivery.Unit) {
	by := u.By
	u.Suspended = strings.EqualFold(by.GetAnnotations()["argocd.argoproj.io/skip-reconcile"], "true")
	if len(u.Sources) == 0 {
		u.Unseen = "it has no source"
	}
	for _, source := range u.Sources {
		f.argoCDSource(ctx, u, source)
	}
	findAside(u)
	u.Objects = slices.DeleteFunc(u.Objects, notApplied)
	if u.Err != nil {
		u.Objects = nil
	}
}

// argoCDSource adds one source, if it can be seen.
func (f *follower) argoCDSource(ctx context.Context, u *delivery.Unit, d delivery.Source) {
	source, unseen := d.Settings, u.Unseen
	path := source.Text("path")
	switch {
	case source.Text("chart") != "", source.Text("ref") == "" && argocd.IsArtifact(source):
		f.argoCDChart(ctx, u, source, "")
		return
	case path == "" && source.Text("ref") != "":
		return // only lends its files to the other sources
	case path == "":
		u.Unseen = "it names no path"
		return
	case strings.Contains(path, "{{"):
		u.Unseen = "its path is a template"
		f.hiddenOf(u).widen(files.Wires)
		return
	case source.Field("plugin") != nil:
		u.Unseen = "it is rendered by a plugin"
		f.hideOfPlugin(u, path)
		return
	}
	url := argocd.Elsewhere(u, source)
	if url == "" && f.anothers[addressOf(d)] {
		url = source.Text("repoURL")
	}
	if at := argocd.TagOrCommit(source.Text("targetRevision")); url == "" && at != "" && f.Repositories != nil && source.Text("repoURL") != "" {
		u.Unseen = fmt.Sprintf("it is taken from revision %s of %s, which need not be what lies here", at, network.WithoutUser(source.Text("repoURL")))
		f.hiddenOf(u).addBelowRoot(f.tree, path)
		f.argoCDFromElsewhere(ctx, u, unseen, d)
		return
	}
	if url != "" {
		u.Unseen = "it comes from another repository, " + url
		if !f.anothers[addressOf(d)] || !slices.Contains(f.cluster.Units[0].Dirs, f.tree.Relative(f.tree.Folder(path))) {
			f.hiddenOf(u).addBelowRoot(f.tree, path)
		}
		f.argoCDFromElsewhere(ctx, u, unseen, d)
		return
	}
	if dir := f.tree.Folder(path); dir != "" && argocd.TypeOf(source, dir) == argocd.OfHelm {
		f.argoCDChart(ctx, u, source, dir)
		return
	}
	if at := source.Text("targetRevision"); argocd.IsPin(at) {
		u.Pinned = "revision " + at
	}
	switch why := argocd.NotAsItLies(f.tree, u, source, path); {
	case why == argocd.ByJsonnet && f.evaluated(ctx, u, source, f.tree.Folder(path)):
		return
	case why != "":
		u.Unseen = why
		f.hideJsonnet(f.hiddenOf(u), u, source, f.tree.Folder(path))
		return
	}
	if f.build(u, path, func(dir string) (*render.Rendering, error) { return f.argoCDFolder(ctx, u, d, dir, true) }); f.tree.Folder(path) == "" {
		f.argoCDFromElsewhere(ctx, u, unseen, d)
	}
}

// hideOfPlugin remembers what a plugin is run with. It may read what it likes, but the Application may say what it reads, since Argo CD
// generates nothing anew when other files change.
func (f *follower) hideOfPlugin(u *delivery.Unit, path string) {
	h, dir := f.hiddenOf(u), f.tree.Folder(path)
	paths := argocd.GeneratePaths(u.By)
	if len(paths) == 0 {
		h.readable = append(h.readable, f.tree.Root)
	}
	for _, path := range paths {
		h.readable = append(h.readable, f.tree.Absolute(path))
	}
	if dir != "" {
		h.readable = append(append(h.readable, dir), render.Local(dir, f.tree.Root)...)
	}
}

// evaluated adds what a folder with Jsonnet makes, and reports whether it could be run here.
func (f *follower) evaluated(ctx context.Context, u *delivery.Unit, source *delivery.Object, dir string) bool {
	rendering, err := argocd.Evaluated(ctx, f.tree, u, source, dir)
	if err != nil {
		f.notSeen(u, f.tree.Shorten(err))
		return false
	}
	u.Dirs = append(u.Dirs, f.tree.Relative(dir))
	u.Objects = append(u.Objects, files.Placed(rendering, f.tree.Place)...)
	return true
}

// argoCDFolder builds a folder as Argo CD does, or what can be had of it, for a unit if there is one.
func (f *follower) argoCDFolder(ctx context.Context, u *delivery.Unit, d delivery.Source, dir string, partly bool) (*render.Rendering, error) {
	o := f.options(d)
	o.Partly = partly
	if f.releases != nil {
		inflate := f.charts.Inflate(ctx, u)                                         // whether Argo CD has --enable-helm is not in Git; without it, this would fail
		o.Inflate = func(dir, home string, chart types.HelmChart) ([]byte, error) { // it has Kustomize use its own in any case
			chart.KubeVersion, chart.ApiVersions = d.Settings.Text("kustomize", "kubeVersion"), d.Settings.Texts("kustomize", "apiVersions")
			return inflate(dir, home, chart)
		}
	}
	return argocd.Folder(d.Settings, dir, o, func(o render.Options) (*render.Rendering, error) { return render.Folder(dir, o) })
}

// argoCDChart adds a chart, as Argo CD renders it, or says why it cannot be seen. dir is its folder in this repository,
// empty for one from elsewhere.
// https://argo-cd.readthedocs.io/en/stable/user-guide/helm/
func (f *follower) argoCDChart(ctx context.Context, u *delivery.Unit, source *delivery.Object, dir string) {
	err := errors.New("nothing is followed") // Wired renders no charts
	if f.releases != nil {
		err = argocd.AddChart(ctx, f.charts, u, source, dir)
	}
	if err == nil {
		return
	}
	unseen := fmt.Sprintf("%s is a chart", source.Text("path"))
	if dir == "" {
		unseen = strings.TrimSpace(fmt.Sprintf("it comes from the chart %s %s", cmp.Or(source.Text("chart"), source.Text("repoURL")), source.Text("targetRevision")))
	}
	u.Unseen = strings.TrimPrefix(u.Unseen+"; "+unseen, "; ")
	f.hideChart(u, source, dir)
	if f.releases != nil {
		f.notRendered[u.By] = err
	}
}
