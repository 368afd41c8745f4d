package doctor

import (
	"fmt"
	"strings"
	"time"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

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
		Why:  fmt.Sprintf("%s stuck in deletion: %s", words.Count(len(stuck), "object"), words.FewClauses(stuck, mostNamed)),
		Mend: "bring up whatever is to remove the finalizers, and see that it works at " + crds.StorageVersion(crd.CustomResourceDefinition) + ", before an older version goes"}}
}
