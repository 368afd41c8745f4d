package doctor

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// Aggregated is a version of a CRD for which an aggregated API server answers, and not the one that has the CRD's objects.
type Aggregated struct {
	// APIService decides that, and Service (namespace/name) leads to the server.
	APIService, Service string
}

// aggregation: does the API server itself answer for the objects? If it does not, nobody sees what is stored.
func aggregation(p Patient) Result {
	r := Result{Evidence: "no APIService hands the requests for the CRDs on to another API server"}
	seen := 0
	for _, crd := range p.CRDs {
		if crd.Aggregated.Not != "" {
			r.NotSeen = append(r.NotSeen, crd.Aggregated.Not)
			continue
		}
		seen++
		for _, a := range crd.Aggregated.Value {
			r.Findings = append(r.Findings, finding.Finding{Severity: finding.Error, Object: crd.Name,
				Why:  fmt.Sprintf("APIService %s hands the requests for this version on to the aggregated API server behind Service %s, so nobody sees the objects that are stored under the CRD, and Moult proves nothing", a.APIService, a.Service),
				Mend: "delete the APIService, or take the opt-in label off the CRD if the aggregated API server is to stay"})
		}
	}
	if seen == 0 && len(r.NotSeen) > 0 {
		return notRun(strings.Join(r.NotSeen, "; "))
	}
	return r
}
