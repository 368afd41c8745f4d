package doctor

import (
	"fmt"

	"github.com/moult-dev/moult/policies/finding"
)

// Aggregated is a version of a CRD for which an aggregated API server answers, and not the one that has the CRD's objects.
type Aggregated struct {
	// APIService decides that, and Service (namespace/name) leads to the server.
	APIService, Service string
}

// aggregation: does the API server itself answer for the objects? If it does not, no client sees what is stored.
func aggregation(c ClusterState) Result {
	return each(c, "no APIService hands the requests for the CRDs on to another API server", func(crd ExaminedCRD) Known[[]Aggregated] { return crd.Aggregated }, hidden)
}

func hidden(crd ExaminedCRD, by []Aggregated) (findings []finding.Finding) {
	for _, a := range by {
		findings = append(findings, finding.Finding{Severity: finding.Error, Object: crd.Name,
			Why:         fmt.Sprintf("APIService %s hands the requests for this version on to the aggregated API server behind Service %s. That hides the objects that are stored under the CRD, so Moult proves nothing", a.APIService, a.Service),
			Remediation: "delete the APIService, or take the opt-in label off the CRD if the aggregated API server is to stay"})
	}
	return findings
}
