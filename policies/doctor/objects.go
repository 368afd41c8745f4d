package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// namespaces: an object whose Namespace was forced out of existence can be read and deleted, and not written. It keeps
// a migration from ending, and after a removal no client can list the resource any more.
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
		Why:         fmt.Sprintf("%s in Namespaces that do not exist, so that no client can write them: %s", words.Count(objects, "object"), words.FewClauses(gone, mostNamed)),
		Remediation: fmt.Sprintf("delete them (`kubectl delete %s --all -n NAMESPACE` works), or create the Namespaces again; the migration then goes on by itself", crd.Name)}}
}

// unreadableObjects: one object that the API server cannot read from etcd keeps it from listing all others, so no migration of them
// can end. Often its version has left the CRD too early.
func unreadableObjects(c ClusterState) Result {
	return each(c, "the API server can read every object from etcd", func(crd ExaminedCRD) Known[[]Unreadable] { return crd.Unreadable }, unreadable)
}

func unreadable(crd ExaminedCRD, objects []Unreadable) []finding.Finding {
	if len(objects) == 0 {
		return nil
	}
	var named, remedies []string
	for _, o := range objects {
		named = append(named, fmt.Sprintf("%s (%s)", o.place(), o.Why))
		remedies = append(remedies, plan.Remedy(o.Why))
	}
	return []finding.Finding{{Severity: finding.Error, Object: crd.Name,
		Why:         fmt.Sprintf("the API server cannot read %s from etcd, so it lists none, and the migration cannot end: %s", words.Count(len(objects), "object"), words.FewClauses(named, mostNamed)),
		Remediation: strings.Join(words.Distinct(remedies), "; or ")}}
}

// place says which object it is.
func (u Unreadable) place() string {
	switch {
	case u.Name != "":
		return u.Name
	case u.Behind != "":
		return fmt.Sprintf("the one that comes after %s in the order of namespaces and names, which Kubernetes names from 1.37 on", u.Behind)
	}
	return "the first one in the order of namespaces and names, which Kubernetes names from 1.37 on"
}

// stuckAfter is how long a deletion may take without being remarkable.
const stuckAfter = 5 * time.Minute

// stuckObjects: an object that waits for a finalizer waits for a program, which may know the old version only.
func stuckObjects(c ClusterState) Result {
	return each(c, fmt.Sprintf("no object has been Terminating for longer than %s", stuckAfter), func(crd ExaminedCRD) Known[[]Terminating] { return crd.Terminating }, c.stuck)
}

func (c ClusterState) stuck(crd ExaminedCRD, terminating []Terminating) []finding.Finding {
	var stuck []string
	for _, t := range terminating {
		if c.Now.Sub(t.Since) >= stuckAfter {
			stuck = append(stuck, fmt.Sprintf("%s since %s (finalizers: %s)", t.Name, t.Since.UTC().Format(time.RFC3339), strings.Join(t.Finalizers, ", ")))
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return []finding.Finding{{Severity: finding.Warning, Object: crd.Name,
		Why:         fmt.Sprintf("%s stuck in deletion: %s", words.Count(len(stuck), "object"), words.FewClauses(stuck, mostNamed)),
		Remediation: "bring up whatever is to remove the finalizers, and see that it works at " + crds.StorageVersion(crd.CustomResourceDefinition) + ", before an older version goes"}}
}
