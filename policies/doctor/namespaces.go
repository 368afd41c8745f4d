package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// namespaces: an object whose Namespace was forced out of existence can be read and deleted, and not written. It keeps a
// migration from ending, and after a removal nobody can list the resource any more.
func namespaces(p Patient) Result {
	r := Result{Evidence: "every object lies in a Namespace that exists"}
	if p.Namespaces.Not != "" {
		return notRun(p.Namespaces.Not)
	}
	seen := 0
	for _, crd := range p.CRDs {
		if crd.In.Not != "" {
			r.NotSeen = append(r.NotSeen, crd.In.Not)
			continue
		}
		seen++
		r.Findings = append(r.Findings, p.stranded(crd)...)
	}
	if seen == 0 && len(r.NotSeen) > 0 {
		return notRun(strings.Join(r.NotSeen, "; "))
	}
	return r
}

// stranded are the objects of a CRD in Namespaces that do not exist.
func (p Patient) stranded(crd CRD) []finding.Finding {
	var named []string
	objects, gone := 0, 0
	for _, namespace := range slices.Sorted(maps.Keys(crd.In.Value)) {
		if namespace == "" || slices.Contains(p.Namespaces.Value, namespace) {
			continue
		}
		objects += crd.In.Value[namespace]
		if gone++; gone <= maxNamed {
			named = append(named, fmt.Sprintf("%s (%d)", namespace, crd.In.Value[namespace]))
		}
	}
	if gone == 0 {
		return nil
	}
	more := ""
	if gone > maxNamed {
		more = fmt.Sprintf("; and %d more", gone-maxNamed)
	}
	return []finding.Finding{{Severity: finding.Error, Object: crd.Name,
		Why:  fmt.Sprintf("%s in Namespaces that do not exist, so that nobody can write them: %s%s", count(objects, "object"), strings.Join(named, "; "), more),
		Mend: fmt.Sprintf("delete them (`kubectl delete %s --all -n NAMESPACE` works), or create the Namespaces again; the migration then goes on by itself", crd.Name)}}
}
