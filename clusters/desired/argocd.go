package desired

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/optin"
)

// argoCD fills a unit with what Argo CD would apply.
func (f *follower) argoCD(u *Unit) {
	by := u.By.Unstructured
	u.Prune = truth(by, "spec", "syncPolicy", "automated", "prune")
	u.Suspended = strings.EqualFold(by.GetAnnotations()["argocd.argoproj.io/skip-reconcile"], "true")
	sources := sourcesOf(by)
	if len(sources) == 0 {
		u.Unseen = "it has no source"
	}
	for i, source := range sources {
		f.argoCDSource(u, source, u.Deliveries[i])
	}
	if u.Err != nil {
		u.Objects = nil
	}
}

// sourcesOf are an Application's sources, in the order of optin.DeliveriesOf.
func sourcesOf(application *unstructured.Unstructured) []*unstructured.Unstructured {
	sources := entries(application, "spec", "sources")
	if one, ok := at(application, "spec", "source").(map[string]any); ok {
		sources = append(sources, &unstructured.Unstructured{Object: one})
	}
	return sources
}

// argoCDSource adds one source, if it can be seen.
func (f *follower) argoCDSource(u *Unit, source *unstructured.Unstructured, d optin.Delivery) {
	path := text(source, "path")
	switch {
	case text(source, "chart") != "":
		u.Unseen = strings.TrimSpace(fmt.Sprintf("it comes from the chart %s %s", text(source, "chart"), text(source, "targetRevision")))
		f.hideChart(u, source, "")
		return
	case path == "" && text(source, "ref") != "":
		return // only lends its files to the other sources
	case path == "":
		u.Unseen = "it names no path"
		return
	case strings.Contains(path, "{{"):
		u.Unseen = "its path is a template"
		u.hidden.widen(wires)
		return
	case at(source, "plugin") != nil:
		u.Unseen = "it is rendered by a plugin"
		u.hidden.add(folder(f.tree, path))
		u.hidden.widen(everything) // a plugin reads what it likes
		return
	}
	if url := elsewhere(u, source); url != "" {
		u.Unseen = "it comes from another repository, " + url
		u.hidden.addBelowRoot(f.tree, path)
		return
	}
	if dir := folder(f.tree, path); dir != "" && hasFile(dir, "Chart.yaml") {
		u.Unseen = fmt.Sprintf("%s is a chart", path)
		f.hideChart(u, source, dir)
		return
	}
	if why := f.notAsItLies(u, source, path); why != "" {
		u.Unseen = why
		u.hidden.add(folder(f.tree, path))
		u.hidden.widen(data)
		return
	}
	if at := text(source, "targetRevision"); isPin(at) {
		u.Pinned = "revision " + at
	}
	f.build(u, path, func(dir string) (*render.Rendering, error) { return f.argoCDFolder(d, source, dir) })
}

// elsewhere is the repository of a source, if that is another than the one that the Application itself was found in: the
// one that the Application around it is taken from. Which repository an entry point is of, nobody says.
func elsewhere(u *Unit, source *unstructured.Unstructured) string {
	url := text(source, "repoURL")
	for around := u.Parent; around != nil && url != "" && !strings.Contains(url, "{{"); around = around.Parent {
		if around.Tool != optin.ArgoCD || around.Unseen != "" {
			continue
		}
		known := false
		for _, ours := range sourcesOf(around.By.Unstructured) {
			if of := text(ours, "repoURL"); of != "" {
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
func (f *follower) argoCDFolder(d optin.Delivery, source *unstructured.Unstructured, dir string) (*render.Rendering, error) {
	if render.KustomizationIn(dir) == "" {
		return render.Directory(dir, render.DirectoryOptions{
			Recurse: truth(source, "directory", "recurse"), Root: f.tree.Root,
			Include: text(source, "directory", "include"), Exclude: text(source, "directory", "exclude"),
		})
	}
	o := f.options(d)
	o.Namespace = text(source, "kustomize", "namespace")
	o.NamePrefix, o.NameSuffix = text(source, "kustomize", "namePrefix"), text(source, "kustomize", "nameSuffix")
	o.Annotations = texts(source, "kustomize", "commonAnnotations")
	return render.Folder(dir, o)
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
