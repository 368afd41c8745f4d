package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is moult.dev/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: "moult.dev", Version: "v1alpha1"}

// AddToScheme makes a scheme know the types of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &VersionRemoval{}, &VersionRemovalList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
