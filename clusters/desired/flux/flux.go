// Package flux reads the settings of Kustomizations, HelmReleases and sources of Flux, and does what they have its controllers do.
// Nothing is followed here: it gets an object, what else is seen of the cluster, and the files of the repository.
package flux

import (
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// DependsOn are the names of the units that a Kustomization waits for.
func DependsOn(by *delivery.Object) (names []string) {
	if delivery.ToolOf(by) != delivery.Flux {
		return nil
	}
	for _, dependency := range by.Entries("spec", "dependsOn") {
		names = append(names, delivery.ReferenceOf(dependency, by.GetNamespace()).String())
	}
	return names
}

// Options are those of a Kustomization, beside what its source adds.
func Options(by *delivery.Object, o render.Options) render.Options {
	o.Namespace = by.Text("spec", "targetNamespace")
	o.NamePrefix, o.NameSuffix = by.Text("spec", "namePrefix"), by.Text("spec", "nameSuffix")
	o.Annotations = by.TextMap("spec", "commonMetadata", "annotations")
	return o
}

// PinnedTo is the commit or tag that a GitRepository stays at, empty if it follows something.
func PinnedTo(repository *delivery.Object) string {
	commit := repository.Text("spec", "ref", "commit")
	if commit == "" && repository.Text("spec", "ref", "semver") == "" && repository.Text("spec", "ref", "name") == "" {
		return repository.Text("spec", "ref", "tag")
	}
	return commit
}

// LeavingOut are the fields of a GitRepository that decide which files arrive, and so what is pruned for want of them.
// https://fluxcd.io/flux/components/source/gitrepositories/#ignore
var LeavingOut = []string{"ignore", "sparseCheckout", "recurseSubmodules"}
