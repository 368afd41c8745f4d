package desired

import (
	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
)

// Options are what may be asked beside the repository. With none of them, nothing is fetched but remote bases.
type Options struct {
	// Charts has the charts that are not in the repository, nil if they are not rendered.
	Charts helm.Source
	// Repositories has what is taken from other repositories at a tag or a commit, nil if that is not built. What follows a branch changes by
	// itself, and no commit of this repository decides about it.
	Repositories RepositorySource
	// Clusters are those that Argo CD knows, nil if that is not known.
	Clusters []appset.Cluster
	// Network says whom a build may ask for remote bases.
	Network *network.Policy
	// Guessed: the entry point was found, and not named. One that cannot be built may be none, so it is a unit with an Err.
	Guessed bool
	// Changed are the files that another state of the repository has otherwise, by their paths from the root. They may make what units lack.
	Changed []string
	// Builds are those of all that is followed with it, so that the same files are built once; nil for none.
	Builds *render.Builds
}
