// Package v1alpha1 is Moult's vocabulary: the labels and annotations people
// write in Git, the condition and the reasons Moult writes back, and the
// grammar of its messages. Everything else in the project imports it and it
// imports nothing of ours, so a word is spelled in one place only.
package v1alpha1
