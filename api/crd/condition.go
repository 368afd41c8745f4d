package crd

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Condition is the condition of a type, nil if the CRD has none.
func Condition(crd *apiextensionsv1.CustomResourceDefinition, conditionType string) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range crd.Status.Conditions {
		if string(crd.Status.Conditions[i].Type) == conditionType {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}

// IsTrue tells whether the CRD has the condition and its status is True, by whomever.
func IsTrue(crd *apiextensionsv1.CustomResourceDefinition, conditionType string) bool {
	c := Condition(crd, conditionType)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}
