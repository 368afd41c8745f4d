// Package charts renders Helm charts without a cluster: what `helm template` prints, as objects with their places.
//
// A chart comes from a folder of a repository (Folder) or from an archive (Archive). Render fills in values and runs
// the templates with Helm's own engine. A chart may be a stranger's pull request. So nothing outside of it is read,
// nothing is looked up in a cluster or a network, and what runs longer or grows larger than its limits is given up.
// What Helm makes up anew each time, such as keys, certificates and passwords, is the same each time, so that two
// renderings can be compared.
//
// Start with Render in render.go; load.go reads charts, functions.go has what templates may not do.
package charts
