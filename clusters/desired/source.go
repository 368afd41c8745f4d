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
	source := f.source("GitRepository", from)
	if source == nil {
		return "", ""
	}
	if ours := f.source("GitRepository", delivery.Reference{Name: "flux-system"}); ours != nil && network.Normal(source.Text("spec", "url")) != network.Normal(ours.Text("spec", "url")) {
		return fmt.Sprintf("it comes from another repository, %s (GitRepository %s)", source.Text("spec", "url"), from.Name), ""
	}
	for _, how := range []string{"commit", "tag", "semver"} {
		if at := source.Text("spec", "ref", how); at != "" {
			return "", fmt.Sprintf("%s %s (GitRepository %s)", how, at, from.Name)
		}
	}
	return "", ""
}

// source is one of Flux's among the objects seen so far; without a namespace it may be in any.
func (f *follower) source(kind string, from delivery.Reference) *delivery.Object {
	for _, object := range f.cluster.Named(kind, from.Namespace, from.Name) {
		if object.Is("source.toolkit.fluxcd.io", kind) {
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
	return ignoredBy(f.tree, f.source("GitRepository", from))
}

// ignoredBy is the same for a GitRepository, nil if its own spec.ignore is not known.
func ignoredBy(t *files.Tree, source *delivery.Object) func(path string, isDir bool) bool {
	if source == nil {
		return t.Ignored("")
	}
	return t.Ignored(source.Text("spec", "ignore"))
}
