// Package crd answers questions about a CustomResourceDefinition as it was read: whether it is one, which version is
// stored, and which are served or leave. It also reports whose its conditions are, and whether Moult may touch it.
//
// It is pure. The reconcilers, the doctor and the snapshot ask here, so that no two of
// them answer differently. What upstream's apihelpers answer is not answered again:
// FindCRDCondition, IsCRDConditionTrue, HasServedCRDVersion, GetSchemaForVersion and
// GetSubresourcesForVersion are used as they are.
package crd
