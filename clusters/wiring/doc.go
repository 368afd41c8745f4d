// Package wiring finds out what a cluster gets from a repository. Follow renders an entry point, for example
// clusters/production, and goes where its Flux Kustomizations and Argo CD Applications point, then where the ones found
// there point, until there is nothing new. What comes out is a Cluster: units, each of which is what one Kustomization or
// Application applies, with the place in the repository of every object.
//
// What lies elsewhere (a chart, an OCI artifact, another repository) or cannot be built is not left out silently: the unit
// is there, says so, and a Finding tells a person. Nothing is fetched, and no cluster is asked.
//
// Start with Follow in follow.go; flux.go and argocd.go read the tools' settings, source.go decides what is in this
// repository, and crds.go lists the CRDs a cluster would get.
package wiring
