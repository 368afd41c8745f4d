package preview

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
)

// sourceFields say where a Flux Kustomization or an Argo CD Application takes what it applies, and where to.
var sourceFields = [][]string{
	{"spec", "sourceRef"}, {"spec", "kubeConfig"},
	{"spec", "source", "repoURL"}, {"spec", "source", "targetRevision"}, {"spec", "sources"}, {"spec", "destination"},
}

// sourcesMoved finds units that come from elsewhere, or go elsewhere, from now on: what lies in this repository is then not
// what arrives, or not in this cluster.
func sourcesMoved(d Delivered) []finding.Finding {
	before := map[string]*rollout.Object{}
	for _, unit := range d.Base.Units.Units {
		before[unit.Name] = unit.By
	}
	var found []finding.Finding
	for _, unit := range d.Head.Units.Units {
		was := before[unit.Name]
		if unit.By == nil || was == nil {
			continue
		}
		for _, fields := range sourceFields {
			from, _, _ := unstructured.NestedFieldNoCopy(was.Object, fields...)
			to, _, _ := unstructured.NestedFieldNoCopy(unit.By.Object, fields...)
			if reflect.DeepEqual(from, to) {
				continue
			}
			f := finding.Finding{
				Rule: SourceMoved, Severity: finding.Warning, Cluster: d.Name,
				Why:  fmt.Sprintf("%s takes what it applies from another place, or applies it to another, than before (%s), and this preview looks at this repository only", unit.Name, fields[len(fields)-1]),
				Mend: "see to it that what is there is what is here, or change it by a pull request of its own",
			}
			if unit.By.At != nil {
				f.Place = unit.By.At(fields...)
			}
			found = append(found, f)
		}
	}
	return found
}

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
