// Package engines makes an engine of policies/conversion for each CRD that a command is given, with the way to its webhook that the
// flags say.
package engines

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/conversion"
)

// PerPage is how many objects a webhook is asked about in one request.
const PerPage = 20

// Subject is what is looked at: CRDs, and an engine of each that knows no webhook.
type Subject struct {
	CRDs    []*apiextensionsv1.CustomResourceDefinition
	Engines []*conversion.Engine
}

// NewSubject is an error if the API server would not take a CRD.
func NewSubject(all []*apiextensionsv1.CustomResourceDefinition) (*Subject, error) {
	s := &Subject{CRDs: all, Engines: make([]*conversion.Engine, len(all))}
	for i, crd := range all {
		var err error
		if s.Engines[i], err = conversion.New(crd); err != nil {
			return nil, err
		}
	}
	return s, nil
}
