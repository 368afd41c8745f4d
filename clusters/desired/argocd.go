package desired

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// argoCD fills a unit with what Argo CD would apply.
func (f *follower) argoCD(u *delivery.Unit) {
	by := u.By
	u.Suspended = strings.EqualFold(by.GetAnnotations()["argocd.argoproj.io/skip-reconcile"], "true")
	if len(u.Sources) == 0 {
		u.Unseen = "it has no source"
	}
	for _, source := range u.Sources {
		f.argoCDSource(u, source)
	}
	if u.Err != nil {
		u.Objects = nil
	}
}

// argoCDSource adds one source, if it can be seen.
func (f *follower) argoCDSource(u *delivery.Unit, d delivery.Source) {
	source, unseen := d.Settings, u.Unseen
	path := source.Text("path")
	switch {
	case source.Text("chart") != "":
		f.argoCDChart(u, source, "")
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
		f.hiddenOf(u).add(f.tree.Folder(path))
		f.hiddenOf(u).widen(files.Everything) // a plugin reads what it likes
		return
	}
	url := elsewhere(u, source)
	if at := tagOrCommit(source.Text("targetRevision")); url == "" && at != "" && f.repositorySource != nil && source.Text("repoURL") != "" {
		u.Unseen = fmt.Sprintf("it is taken from revision %s of %s, which need not be what lies here", at, network.WithoutUser(source.Text("repoURL")))
		f.hiddenOf(u).addBelowRoot(f.tree, path)
		f.argoCDFromElsewhere(u, unseen, d)
		return
	}
	if url != "" {
		u.Unseen = "it comes from another repository, " + url
		f.hiddenOf(u).addBelowRoot(f.tree, path)
		f.argoCDFromElsewhere(u, unseen, d)
		return
	}
	if dir := f.tree.Folder(path); dir != "" && files.HasChart(dir) {
		f.argoCDChart(u, source, dir)
		return
	}
	if why := f.notAsItLies(u, source, path); why != "" {
		u.Unseen = why
		f.hiddenOf(u).add(f.tree.Folder(path))
		f.hiddenOf(u).widen(files.Data)
		return
	}
	if at := source.Text("targetRevision"); isPin(at) {
		u.Pinned = "revision " + at
	}
	if f.build(u, path, func(dir string) (*render.Rendering, error) { return f.argoCDFolder(u, d, dir) }); f.tree.Folder(path) == "" {
		f.argoCDFromElsewhere(u, unseen, d)
	}
}

// elsewhere is the repository of a source, if that is not the one that the Application itself was found in. An
// Application is found in the repository that the Application around it is taken from. Nothing names the repository of an entry point.
func elsewhere(u *delivery.Unit, source *delivery.Object) string {
	url := source.Text("repoURL")
	for around := u.Parent; around != nil && url != "" && !strings.Contains(url, "{{"); around = around.Parent {
		if around.Tool != delivery.ArgoCD || around.Unseen != "" {
			continue
		}
		known := false
		for _, ours := range around.Sources {
			if of := ours.Settings.Text("repoURL"); of != "" {
				known = true
				if normalURL(of) == normalURL(url) {
					return ""
				}
			}
		}
		if known {
			return url
		}
	}
	return ""
}

// argoCDFolder builds a folder as Argo CD does: without a kustomization in it, kustomize's options are passed over.
func (f *follower) argoCDFolder(u *delivery.Unit, d delivery.Source, dir string) (*render.Rendering, error) {
	source := d.Settings
	if render.KustomizationIn(dir) == "" {
		return render.Directory(dir, render.DirectoryOptions{
			Recurse: source.True("directory", "recurse"), Root: f.rootOf(dir), Note: f.tree.Note(),
			Include: source.Text("directory", "include"), Exclude: source.Text("directory", "exclude"),
		})
	}
	o := f.options(d)
	o.Namespace = source.Text("kustomize", "namespace")
	o.NamePrefix, o.NameSuffix = source.Text("kustomize", "namePrefix"), source.Text("kustomize", "nameSuffix")
	o.Annotations = source.TextMap("kustomize", "commonAnnotations")
	if f.releases != nil {
		o.Inflate = f.inflate // whether Argo CD has --enable-helm is not in Git; without it, this would fail
	} else if f.survey != nil {
		o.Inflate = f.survey.charts(f.ctx, dir)
	}
	return f.folderOf(u, dir, o, d)
}

// isPin guesses whether a revision stays where it is: a version or a hash, not a branch.
func isPin(revision string) bool {
	if revision == "" || revision == "HEAD" {
		return false
	}
	if len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == "" {
		return true
	}
	number := strings.TrimPrefix(strings.TrimPrefix(revision, "refs/tags/"), "v")
	return number != "" && number[0] >= '0' && number[0] <= '9' && strings.Contains(number, ".") || strings.HasPrefix(revision, "refs/tags/")
}
