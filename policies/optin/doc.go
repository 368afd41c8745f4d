// Package optin judges, from manifests alone, whether Moult will get to migrate a CRD. The opt-in label has to be on it
// when it leaves Git. The tool that applies it must not drop the label, hold the CRD back, or delete it with all its
// objects.
//
// Check holds a delivery.Unit against the list in rules.go and returns what is Found for each thing to fix; Markers does
// for Go types what Check does for manifests. Nothing here builds or reads a file: that is the caller's, and
// `moult check opt-in` is one.
package optin
