package doctor

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/moult-dev/moult/policies/finding"
)

// The minor versions of Kubernetes that Moult is tested with: the modules under test/tools that pin an API server.
const (
	oldestTested = 32
	newestTested = 37
)

// lacking is what API servers before a minor version do not have, as far as a user of Moult may miss it.
var lacking = []struct {
	before        int
	evidence, fix string
}{
	{36, "it has no MutatingAdmissionPolicy, so policies/admission/keep-label cannot be installed, which puts an opt-in label back that a sync takes off",
		"have the label in Git, where `moult check opt-in` guards it"},
}

// kubernetes: does the API server have what Moult and its policies use?
func kubernetes(c ClusterState) Result {
	if c.Server.Not != "" {
		return notRun(c.Server.Not)
	}
	found, err := version.ParseGeneric(c.Server.Value)
	if err != nil || found.Major() != 1 {
		return notRun(fmt.Sprintf("the API server's version %q is not one of Kubernetes", c.Server.Value))
	}
	minor := int(found.Minor())
	r := Result{Evidence: fmt.Sprintf("the API server is %s; Moult is tested with Kubernetes 1.%d to 1.%d", c.Server.Value, oldestTested, newestTested)}
	tell := func(severity finding.Severity, evidence, fix string) {
		r.Findings = append(r.Findings, finding.Finding{Severity: severity, Object: "Kubernetes " + c.Server.Value, Why: evidence, Remediation: fix})
	}
	if minor < oldestTested {
		tell(finding.Warning, fmt.Sprintf("Moult is not tested with it: the oldest is 1.%d", oldestTested), "upgrade Kubernetes before old versions are removed")
	}
	if minor > newestTested {
		tell(finding.Warning, fmt.Sprintf("Moult is not tested with it: the newest is 1.%d", newestTested),
			"see whether there is a newer Moult")
	}
	for _, l := range lacking {
		if minor < l.before {
			tell(finding.Info, l.evidence, l.fix)
		}
	}
	return r
}
