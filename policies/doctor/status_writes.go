package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// Controller is the user that moult-controller is to the cluster, and what is known of its writes to the status of CRDs. What
// it may not write it cannot say there: the condition stays as it was, or never comes.
type Controller struct {
	User string
	// Refusals are the Events by which it has told of writes that were refused.
	Refusals Known[[]Refusal]
	// Guards are the policies that let one user alone write.
	Guards Known[[]Guard]
}

// Refusal is an Event of the reason v1alpha1.EventStatusRefused.
type Refusal struct {
	CRD string
	// Last is when it was seen last, and Note what the controller said.
	Last time.Time
	Note string
}

// statusWrites: would the controller's next write to the status of a CRD be refused? To try it takes the controller's rights,
// even as a dry run. So this looks at what was refused before, asks RBAC about the controller's user, and reads the policy
// that lets one user alone write. What another policy or a webhook would say is known once it has refused something.
func statusWrites(c ClusterState) Result {
	r := Result{Findings: c.all(func(crd ExaminedCRD) []finding.Finding {
		if !crds.OptedIn(crd, c.LabelKey) {
			return nil // Moult does not write to it
		}
		return slices.Concat(c.refused(crd), c.lacksPermission(crd), c.keptOut(crd))
	})}
	var seen []string
	note := func(not, found string) {
		if not == "" {
			seen = append(seen, found)
		} else {
			r.NotSeen = append(r.NotSeen, not)
		}
	}
	note(c.Controller.Refusals.Not, "no refused write has been recorded")
	for _, crd := range c.CRDs {
		note(crd.Writable.Not, "RBAC lets "+c.Controller.User+" write")
	}
	note(c.Controller.Guards.Not, "no policy of Moult's keeps it out")
	r.NotSeen, seen = words.Distinct(r.NotSeen), words.Distinct(seen) // the same holds for many CRDs
	if len(seen) == 0 {
		return notRun(strings.Join(r.NotSeen, "; "))
	}
	r.Evidence = strings.Join(seen, ", and ")
	return r
}

// refused is the last refusal, unless a write has gone through since.
func (c ClusterState) refused(crd ExaminedCRD) []finding.Finding {
	last := Refusal{}
	for _, refusal := range c.Controller.Refusals.Value {
		if refusal.CRD == crd.Name && refusal.Last.After(last.Last) {
			last = refusal
		}
	}
	// managedFields count in seconds
	if last.CRD == "" || !last.Last.Truncate(time.Second).After(c.lastWritten(crd)) {
		return nil
	}
	return []finding.Finding{{Severity: finding.Error, Object: crd.Name,
		Why:         fmt.Sprintf("the controller's last write to the CRD's status was refused at %s: %s", last.Last.UTC().Format(time.RFC3339), last.Note),
		Remediation: "do what the message says; until then the condition " + v1alpha1.StorageMigrated + " reports nothing new, and nothing is trimmed"}}
}

// lastWritten is when Moult last changed the CRD's status.
func (c ClusterState) lastWritten(crd ExaminedCRD) (last time.Time) {
	for _, entry := range crd.ManagedFields {
		if entry.Manager == c.FieldManager && entry.Subresource == "status" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

func (c ClusterState) lacksPermission(crd ExaminedCRD) []finding.Finding {
	if crd.Writable.Not != "" || crd.Writable.Value {
		return nil
	}
	return []finding.Finding{{Severity: finding.Error, Object: crd.Name,
		Why: c.Controller.User + " may not patch the status of the CRD",
		Remediation: `bind this rule to it: {apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions/status"], verbs: ["patch"]}; ` +
			"if the controller runs as another user, name it with --controller"}}
}

func (c ClusterState) keptOut(crd ExaminedCRD) (findings []finding.Finding) {
	for _, guard := range c.Controller.Guards.Value {
		if guard.User != c.Controller.User {
			findings = append(findings, finding.Finding{Severity: finding.Error, Object: crd.Name,
				Why:         fmt.Sprintf("ValidatingAdmissionPolicy %s lets %s write Moult's part of the status, and the controller is %s", guard.Policy, guard.User, c.Controller.User),
				Remediation: "name the controller's user in the first variable of the policy; if the controller runs as another user, name it with --controller"})
		}
	}
	return findings
}
