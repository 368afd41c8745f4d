package desired

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/finding"
)

// CRD is one CustomResourceDefinition that a cluster would get.
type CRD struct {
	*Object

	Unit *Unit
}

// CRDs are all that the cluster would get, by name, then in the order of the units. A name stands there twice if two
// units apply it, which is a finding, too.
func (c *Cluster) CRDs() []CRD {
	var found []CRD
	for _, unit := range c.Units {
		for _, object := range unit.Objects {
			if isCRD(object.Unstructured) {
				found = append(found, CRD{Object: object, Unit: unit})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b CRD) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}

func isCRD(object *unstructured.Unstructured) bool {
	gvk := object.GroupVersionKind()
	return gvk.Group == "apiextensions.k8s.io" && gvk.Kind == "CustomResourceDefinition"
}

// findTwice finds CRDs that two units apply.
func (c *Cluster) findTwice() {
	crds := c.CRDs()
	for i := 1; i < len(crds); i++ {
		one, other := crds[i-1], crds[i]
		if one.GetName() != other.GetName() {
			continue
		}
		f := finding.Finding{
			Rule: AppliedTwice, Severity: finding.Warning, Cluster: c.Name, CRD: other.GetName(), Place: other.At(),
			Why:  fmt.Sprintf("both %s and %s apply it, so each undoes what the other has applied", one.Unit.Name, other.Unit.Name),
			Mend: "leave it in one of them",
		}
		if !reflect.DeepEqual(one.Object.Object["spec"], other.Object.Object["spec"]) {
			f.Severity = finding.Error // which of them counts, nobody knows, and a version may be in one of them only
			f.Why = fmt.Sprintf("%s and %s apply it, and they differ, so it changes with every reconciliation", one.Unit.Name, other.Unit.Name)
		}
		if one.Unit == other.Unit {
			f.Why, f.Mend = fmt.Sprintf("%s holds it twice, and the later one counts", one.Unit.Name), "leave one of them"
		}
		c.Findings = append(c.Findings, f)
	}
}
