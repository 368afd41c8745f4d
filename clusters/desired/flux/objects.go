package flux

import (
	"fmt"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/delivery"
)

// Objects are what is seen of a cluster so far.
type Objects struct {
	*delivery.Cluster

	// Templated are those into which Flux puts values that cannot be known.
	Templated map[*delivery.Object]bool
	// Beside are objects that no unit has, nil where none are looked for.
	Beside *Beside
}

// ObjectsOf are those of a cluster, all of them known.
func ObjectsOf(c *delivery.Cluster) Objects {
	return Objects{Cluster: c, Templated: map[*delivery.Object]bool{}}
}

// Held is a ConfigMap or a Secret of a namespace, nil if it is not among the objects seen so far. One without a namespace, of a unit that nothing
// says who applies, gets it from whatever does.
func (o Objects) Held(kind, namespace, name string) *delivery.Object {
	var bare []*delivery.Object
	for u, object := range o.Objects() {
		switch {
		case !object.Is("", kind) || object.GetName() != name:
		case object.GetNamespace() == namespace:
			return object
		case object.GetNamespace() == "" && u.By == nil:
			bare = append(bare, object)
		}
	}
	if len(bare) != 1 { // of two, nothing shows which
		return nil
	}
	return bare[0]
}

// SourceIsHere says why what a reference names is not in this repository, empty if it is or may be; and the tag or
// commit it is pinned to.
func (o Objects) SourceIsHere(from delivery.Reference) (elsewhere, pinned string) {
	if from.Kind != "GitRepository" && from.Kind != "" {
		return fmt.Sprintf("it comes from %s %s", from.Kind, from.Name), ""
	}
	source := o.Source("GitRepository", from)
	if source == nil {
		return "", ""
	}
	if ours := o.Source("GitRepository", delivery.Reference{Name: "flux-system", Namespace: "flux-system"}); ours != nil && network.Normal(source.Text("spec", "url")) != network.Normal(ours.Text("spec", "url")) {
		return fmt.Sprintf("it comes from another repository, %s (GitRepository %s)", source.Text("spec", "url"), from.Name), ""
	}
	for _, how := range []string{"commit", "tag", "semver"} {
		if at := source.Text("spec", "ref", how); at != "" {
			return "", fmt.Sprintf("%s %s (GitRepository %s)", how, at, from.Name)
		}
	}
	return "", ""
}

// known is a source among the objects seen so far, nil if there is none or if some of it is not known.
func (o Objects) known(kind string, to delivery.Reference) *delivery.Object {
	named := o.Named(kind, to.Namespace, to.Name)
	for _, object := range named {
		if object.Is("source.toolkit.fluxcd.io", kind) && !o.Templated[object] {
			return object
		}
	}
	if len(named) > 0 {
		return nil
	}
	return o.Beside.source(kind, to)
}

// IgnoredFor is what source-controller leaves out of what a Kustomization is built from: by the .sourceignore files of the
// repository, and then by spec.ignore of its GitRepository.
// https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files
func (o Objects) IgnoredFor(t *files.Tree, kustomization *delivery.Object) func(path string, isDir bool) bool {
	from := kustomization.SourceRef()
	if from.Kind != "GitRepository" && from.Kind != "" {
		return t.Ignored("")
	}
	return IgnoredBy(t, o.Source("GitRepository", from))
}

// IgnoredBy is the same for a GitRepository, nil if its own spec.ignore is not known.
func IgnoredBy(t *files.Tree, source *delivery.Object) func(path string, isDir bool) bool {
	if source == nil {
		return t.Ignored("")
	}
	return t.Ignored(source.Text("spec", "ignore"))
}

// Included are the repositories that a GitRepository puts into its own.
// https://fluxcd.io/flux/components/source/gitrepositories/#include
func (o Objects) Included(source *delivery.Object) []*delivery.Object {
	var found []*delivery.Object
	if source.Is("source.toolkit.fluxcd.io", "GitRepository") {
		for _, include := range source.Entries("spec", "include") {
			found = append(found, o.Named("GitRepository", source.GetNamespace(), include.Text("repository", "name"))...)
		}
	}
	return found
}
