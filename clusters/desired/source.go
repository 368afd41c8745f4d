package desired

import (
	"fmt"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/delivery"
)

// sourceIsHere says why what a reference names is not in this repository, empty if it is or may be; and the tag or
// commit it is pinned to.
func (f *follower) sourceIsHere(from delivery.Reference) (elsewhere, pinned string) {
	if from.Kind != "GitRepository" && from.Kind != "" {
		return fmt.Sprintf("it comes from %s %s", from.Kind, from.Name), ""
	}
	source := f.gitRepository(from.Namespace, from.Name)
	if source == nil {
		return "", ""
	}
	if ours := f.gitRepository("", "flux-system"); ours != nil && network.Normal(source.Text("spec", "url")) != network.Normal(ours.Text("spec", "url")) {
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

// ignoredFor is what source-controller leaves out of what a Kustomization is built from: by the .sourceignore files of the
// repository, and then by spec.ignore of its GitRepository.
// https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files
func (f *follower) ignoredFor(kustomization *delivery.Object) func(path string, isDir bool) bool {
	from := kustomization.SourceRef()
	if from.Kind != "GitRepository" && from.Kind != "" {
		return f.tree.Ignored("")
	}
	return ignoredBy(f.tree, f.gitRepository(from.Namespace, from.Name))
}

// ignoredBy is the same for a GitRepository, nil if its own spec.ignore is not known.
func ignoredBy(t *files.Tree, source *delivery.Object) func(path string, isDir bool) bool {
	if source == nil {
		return t.Ignored("")
	}
	return t.Ignored(source.Text("spec", "ignore"))
}
