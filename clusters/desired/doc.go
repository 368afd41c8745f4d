// Package desired finds out what a cluster gets from a repository. Follow renders an entry point, for example
// clusters/production. It goes where its Flux Kustomizations and Argo CD Applications point, then where the ones found
// there point, until there is nothing new. What comes out is a delivery.Cluster: units, each of which is what one
// Kustomization or Application applies, with the place in the repository of every object.
//
// Charts are rendered: each HelmRelease whose chart can be had is a unit, and so is each Application of a chart.
//
// What lies elsewhere (a chart, an OCI artifact, another repository) or cannot be built is not left out silently. The unit
// is there with the reason. A HelmRelease, or what else installs something, is among the Cluster's Unseen. Each of these
// has a fingerprint of all in this repository that decides what it brings. Two of the same name and fingerprint, before
// and after a pull request, bring the same; policies/rollout says what follows from that. No cluster is asked, and nothing is
// fetched but charts, by the helm.Source that the caller hands in.
//
// Where no cluster is asked for, as with `moult check opt-in`, clusters/desired/survey goes through everything in a repository.
//
// Packages below this one know of no cluster that is followed. files and detect are about the files of a repository, and kinds about its
// objects, of which deciding has what counts. flux, argocd, appset, helm and artifact read what a tool is asked for, and do what can be done without a cluster. scan looks at
// all files, with the help of commands and terraform.
//
// Start with Follow in follow.go. flux.go, helmrelease.go and argocd.go make units of what the packages flux and argocd read. unresolved.go
// and fingerprint.go are about what is not in this repository, or cannot be built.
package desired
