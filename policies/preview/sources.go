package preview

import (
	"fmt"

	"github.com/moult-dev/moult/policies/finding"
)

// namesRefused finds CRDs that are called wrongly: they look new, and the right ones gone.
func namesRefused(d Delivered) []finding.Finding {
	var found []finding.Finding
	for _, crd := range d.Head.CRDs {
		if right := crd.Spec.Names.Plural + "." + crd.Spec.Group; crd.Name != right {
			found = append(found, finding.Finding{
				Rule: NameRefused, Severity: finding.Error, CRD: crd.Name, Cluster: d.Name, Place: d.place(crd.Name),
				Why: fmt.Sprintf("the API server refuses it: a CRD is called by its plural and its group, %s", right), Mend: "call it " + right,
			})
		}
	}
	return found
}
