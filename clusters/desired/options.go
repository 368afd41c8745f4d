package desired

import (
	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
)

// Option changes what is followed.
type Option func(*follower)

// WithCharts has charts rendered that are not in the repository.
func WithCharts(source helm.Source) Option {
	return func(f *follower) {
		if f.releases != nil {
			f.charts.Source = source
		}
	}
}

// WithNetwork limits whom a build asks for remote bases.
func WithNetwork(policy *network.Policy) Option {
	return func(f *follower) { f.network = policy }
}

// WithClusters has generators run that give the clusters which Argo CD knows.
func WithClusters(clusters []appset.Cluster) Option {
	return func(f *follower) { f.clusters = clusters }
}

// WithBuilds has what was built already of the same files built no more.
func WithBuilds(builds *render.Builds) Option {
	return func(f *follower) { f.builds = builds }
}
