// Package render builds what a folder in Git amounts to, the way Flux does. Folder builds a kustomization, or a plain
// folder as if it had one that lists all its manifests. Plug-ins are disabled, there are no load restrictions, and there
// is one build at a time. Stream reads manifests that something else has rendered, for example Helm.
//
// Options are what a delivery tool adds from outside of the folder: the components, patches and labels of a Flux
// Kustomization or of an Argo CD Application. What comes out is a Rendering: the objects in the order of the build. Each
// has the file and the line that it came from, as far as Kustomize knows.
//
// Start with Folder in folder.go; place.go finds where an object comes from.
package render
