package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/moult-dev/moult/policies/finding"
)

const (
	// stuckAfter is how long a deletion may take without being remarkable.
	stuckAfter = 5 * time.Minute
	maxNamed   = 5
)

// stuckObjects: an object that waits for a finalizer waits for a program, which may know the old version only.
func stuckObjects(p Patient) Result {
	r := Result{Evidence: fmt.Sprintf("no object has been Terminating for longer than %s", stuckAfter)}
	seen := 0
	for _, crd := range p.CRDs {
		if crd.Dying.Not != "" {
			r.NotSeen = append(r.NotSeen, crd.Dying.Not)
			continue
		}
		seen++
		r.Findings = append(r.Findings, p.stuck(crd)...)
	}
	if seen == 0 && len(r.NotSeen) > 0 {
		return notRun(strings.Join(r.NotSeen, "; "))
	}
	return r
}

func (p Patient) stuck(crd CRD) []finding.Finding {
	var named []string
	n := 0
	for _, d := range crd.Dying.Value {
		if p.Now.Sub(d.Since) < stuckAfter {
			continue
		}
		if n++; n <= maxNamed {
			named = append(named, fmt.Sprintf("%s since %s (finalizers: %s)", d.Name, d.Since.UTC().Format(time.RFC3339), strings.Join(d.Finalizers, ", ")))
		}
	}
	if n == 0 {
		return nil
	}
	more := ""
	if n > maxNamed {
		more = fmt.Sprintf("; and %d more", n-maxNamed)
	}
	return []finding.Finding{{Severity: finding.Warning, Object: crd.Name,
		Why:  fmt.Sprintf("%s stuck in deletion: %s%s", count(n, "object"), strings.Join(named, "; "), more),
		Mend: "bring up whatever is to remove the finalizers, and see that it works at " + crd.storageVersion() + ", before an older version goes"}}
}
