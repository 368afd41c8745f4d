// Package manifests finds the places in a repository's files that name a version of a custom resource, and converts
// them to the storage version without touching another byte.
//
// Versions are found in any file of YAML or JSON: in objects, inside of Lists, in strategic merge patches, and in the
// targets of Kustomize's patches. They are found in the health checks of Flux, too, and in the templates of Helm
// charts, which are read as text. Rewrite changes what it can, and says of the rest why a person has to. What decides
// that is in plan.go and objection.go: a manifest is rewritten when conversion is None and the API server would make
// the same of it at both versions. A field that the new schema does not know would be pruned without a word.
//
// Start with visit.go, which walks a document. A file that is no YAML, or that SOPS has encrypted, is never an error.
package manifests
