// Package render builds what a folder in Git amounts to, the way Flux does: Folder builds a kustomization, or a plain
// folder as if it had one that lists all its manifests, with plug-ins disabled and without load restrictions, one build
// at a time. Stream reads manifests that something else has rendered, for example Helm.
//
// Options are what a delivery tool adds from outside of the folder: the components, patches and labels of a Flux
// Kustomization or of an Argo CD Application. What comes out is a Rendering: the objects in the order of the build, and
// for each of them, as far as Kustomize can tell, the file and the line that it came from.
//
// Start with Folder in folder.go; place.go tells where an object comes from.
package render
