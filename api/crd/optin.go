package crd

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// OptedIn reports whether a CRD carries the label that lets Moult write to its objects.
func OptedIn(crd metav1.Object, labelKey string) bool {
	return crd.GetLabels()[labelKey] == v1alpha1.MigrateLabelValue
}

// InScope reports whether a CRD's API group is among those that are looked after; no
// groups are all.
func InScope(crd *apiextensionsv1.CustomResourceDefinition, groups []string) bool {
	return len(groups) == 0 || slices.Contains(groups, crd.Spec.Group)
}

// Paused reports whether a person has stopped Moult on a CRD, or on a VersionRemoval.
func Paused(object metav1.Object) bool {
	return object.GetAnnotations()[v1alpha1.PausedAnnotation] == v1alpha1.PausedAnnotationValue
}

// GateNamespaces are the namespaces whose VersionRemovals count towards a CRD's condition VersionsRemovable; false if the CRD does
// not say.
func GateNamespaces(crd metav1.Object) (namespaces []string, chosen bool) {
	value, chosen := crd.GetAnnotations()[v1alpha1.GateNamespacesAnnotation]
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }), chosen
}

// RepairsOwners reports whether a CRD lets Moult move owner references to its objects. It has to be opted in, too.
func RepairsOwners(crd metav1.Object) bool {
	return crd.GetAnnotations()[v1alpha1.RepairOwnersAnnotation] == v1alpha1.RepairOwnersAnnotationValue
}

// MigratesStashes reports whether a CRD lets Moult move stashed copies of its objects. It has to be opted in, too.
func MigratesStashes(crd metav1.Object) bool {
	return crd.GetAnnotations()[v1alpha1.MigrateStashesAnnotation] == v1alpha1.MigrateStashesAnnotationValue
}
