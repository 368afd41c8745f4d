// Package crddiff reports what differs between two states of a CustomResourceDefinition, for example of the branch that
// a pull request goes to and of the pull request itself. Each difference has a name, a severity and a sentence that
// says what it means for those who have objects.
//
// Decode reads a CRD, Compare compares two, Sets compares all that two renderings hold. The names are in rule.go; that
// list is the specification. A test holds it to all that sigs.k8s.io/crdify finds, and to at
// least its severity. Beyond that it judges above all versions that are added, flipped or removed.
//
// It is pure. What a change means in a cluster, where objects are stored at some versions and not at others, is for
// policies/preview to say.
package crddiff
