package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// namespaces: an object whose Namespace was forced out of existence can be read and deleted, and not written. It keeps a
// migration from ending, and after a removal nobody can list the resource any more.
func namespaces(c ClusterState) Result {
	if c.Namespaces.Not != "" {
		return notRun(c.Namespaces.Not)
	}
	return each(c, "every object lies in a Namespace that exists", func(crd ExaminedCRD) Known[map[string]int] { return crd.In }, c.stranded)
}

// stranded are the objects of a CRD in Namespaces that do not exist.
func (c ClusterState) stranded(crd ExaminedCRD, in map[string]int) []finding.Finding {
	var gone []string
	objects := 0
	for _, namespace := range slices.Sorted(maps.Keys(in)) {
		if namespace != "" && !slices.Contains(c.Namespaces.Value, namespace) {
			objects += in[namespace]
			gone = append(gone, fmt.Sprintf("%s (%d)", namespace, in[namespace]))
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return []finding.Finding{{Severity: finding.Error, Object: crd.Name,
		Why:  fmt.Sprintf("%s in Namespaces that do not exist, so that nobody can write them: %s", words.Count(objects, "object"), words.FewClauses(gone, mostNamed)),
		Mend: fmt.Sprintf("delete them (`kubectl delete %s --all -n NAMESPACE` works), or create the Namespaces again; the migration then goes on by itself", crd.Name)}}
}
