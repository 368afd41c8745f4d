package main

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/crddiff/refusal"
)

// refused are objections to CRDs that API servers take every day, as new ones and as updates of the release before: a
// preview that had them would cry wolf.
func refused(base, head []*apiextensionsv1.CustomResourceDefinition) []error {
	before := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range base {
		before[crd.Name] = crd
	}
	var wrong []error
	for _, crd := range head {
		asked := []*apiextensionsv1.CustomResourceDefinition{nil}
		if was := before[crd.Name]; was != nil {
			asked = append(asked, was)
		}
		for _, was := range asked {
			for _, r := range refusal.Of(was, crd) {
				wrong = append(wrong, fmt.Errorf("%s is said to be refused, and is not: %s: %s", crd.Name, r.Path, r.Said))
			}
		}
	}
	return wrong
}
