package crd

import (
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// CalledRemovable are the versions that the condition VersionsRemovable calls safe to remove from a CRD as it is now.
// Says reports whether Moult has written it.
func CalledRemovable(crd *apiextensionsv1.CustomResourceDefinition) []string {
	c := apihelpers.FindCRDCondition(crd, v1alpha1.VersionsRemovable)
	if c == nil || c.Status != apiextensionsv1.ConditionTrue {
		return nil
	}
	versions, current := strings.CutPrefix(c.Message, v1alpha1.Message(crd.Generation, ""))
	if !current {
		return nil
	}
	return strings.Split(versions, ", ")
}
