// Package v1alpha1 is Moult's vocabulary: the labels and annotations people
// write in Git, the resource VersionRemoval, the conditions and reasons Moult
// writes back, and the grammar of its messages. Everything else in the project
// imports it and it imports nothing of ours, so a word is spelled in one place
// only.
//
// +groupName=moult.dev
// +kubebuilder:object:generate=true
package v1alpha1
