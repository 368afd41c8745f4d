package bridge

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/bridge"
	crdrefusal "github.com/moult-dev/moult/policies/crddiff/refusal"
)

// refused is the error for an intermediate CRD that the API server would not take in place of the old one. What the old one
// has as well is printed as a note: an API server that has the old one may accept it again.
func (b *command) refused(before, made *apiextensionsv1.CustomResourceDefinition) error {
	for _, r := range crdrefusal.Of(before, made) {
		if !r.Known {
			return fmt.Errorf("the API server would refuse the intermediate CRD of %s: %s: %s; mend the CRDs that it is made of first", made.Name, r.Path, r.Said)
		}
		fmt.Fprintf(b.ErrOut, "%s was like this before, and a Kubernetes API server of today refuses it: %s: %s\n", made.Name, r.Path, r.Said)
	}
	return nil
}

// needless is why there is nothing to bridge for a CRD. That it could be applied as it is must not be said of one that the
// API server refuses.
func (b *command) needless(why *bridge.NotNeeded, before, head *apiextensionsv1.CustomResourceDefinition) string {
	for _, r := range crdrefusal.Of(before, head) {
		if !r.Known {
			return fmt.Sprintf("%s needs no intermediate CRD, but the API server would refuse the new one: %s: %s; mend it first", head.Name, r.Path, r.Said)
		}
	}
	return why.Error()
}
