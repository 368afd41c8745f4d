package desired

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// folder finds a path of a delivery in the tree. It begins at the root of the repository, as the tools do, or else at the
// folder that the tree was opened for: examples hold whole repositories in folders. Empty if there is
// none.
func folder(t *repository.Tree, path string) string {
	for _, root := range []string{t.Root, t.Dir} {
		dir := filepath.Join(root, filepath.FromSlash(path))
		short, err := filepath.Rel(t.Root, dir)
		if err != nil || !filepath.IsLocal(short) {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// fluxSource says why what a Kustomization applies is not in this repository, empty if it is or may be; and the tag or
// commit it is pinned to.
func (f *follower) fluxSource(kustomization *delivery.Object) (elsewhere, pinned string) {
	return f.sourceIsHere(kustomization.SourceRef())
}

// sourceIsHere is the same for what a reference names.
func (f *follower) sourceIsHere(from delivery.Reference) (elsewhere, pinned string) {
	if from.Kind != "GitRepository" && from.Kind != "" {
		return fmt.Sprintf("it comes from %s %s", from.Kind, from.Name), ""
	}
	source := f.gitRepository(from.Namespace, from.Name)
	if source == nil {
		return "", ""
	}
	if ours := f.gitRepository("", "flux-system"); ours != nil && normalURL(source.Text("spec", "url")) != normalURL(ours.Text("spec", "url")) {
		return fmt.Sprintf("it comes from another repository, %s (GitRepository %s)", source.Text("spec", "url"), from.Name), ""
	}
	for _, how := range []string{"commit", "tag", "semver"} {
		if at := source.Text("spec", "ref", how); at != "" {
			return "", fmt.Sprintf("%s %s (GitRepository %s)", how, at, from.Name)
		}
	}
	return "", ""
}

// gitRepository is a source among the objects seen so far; without a namespace it may be in any.
func (f *follower) gitRepository(namespace, name string) *delivery.Object {
	for _, object := range f.cluster.Named("GitRepository", namespace, name) {
		if object.Is("source.toolkit.fluxcd.io", "GitRepository") {
			return object
		}
	}
	return nil
}

// normalURL makes the ways to write a repository's address alike.
func normalURL(url string) string {
	url = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(url), "/"), ".git")
	if _, after, found := strings.Cut(url, "://"); found {
		url = after
	} else {
		url = strings.Replace(url, ":", "/", 1) // git@host:path
	}
	if _, after, found := strings.Cut(url, "@"); found {
		url = after
	}
	return url
}
