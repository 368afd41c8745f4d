// Package crd answers questions about a CustomResourceDefinition as it was read:
// whether it is one, which version is stored and which leave, which conditions it has
// and whose they are.
//
// It is pure. Whoever reads CRDs, the reconcilers, the doctor and the snapshot, asks
// here, so that no two of them answer differently.
package crd
