package doctor

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/policies/words"
)

// gates: a VersionRemoval has in its status what holds it back, and people may not have looked there.
func gates(c ClusterState) Result {
	if c.Gates.Not != "" {
		return notRun(c.Gates.Not)
	}
	open, shut := 0, 0
	var findings []finding.Finding
	for i := range c.Gates.Value {
		gate := &c.Gates.Value[i]
		findings = append(findings, gateFindings(gate)...)
		if meta.IsStatusConditionTrue(gate.Status.Conditions, "Ready") {
			open++
		} else {
			shut++
		}
	}
	return Result{Findings: findings, Evidence: fmt.Sprintf("%s open, %d waiting", words.Count(open, "VersionRemoval"), shut)}
}

func gateFindings(gate *v1alpha1.VersionRemoval) []finding.Finding {
	name := "VersionRemoval " + gate.Namespace + "/" + gate.Name
	ready := meta.FindStatusCondition(gate.Status.Conditions, "Ready")
	switch {
	case ready == nil || gate.Status.ObservedGeneration != gate.Generation:
		return []finding.Finding{{Severity: finding.Warning, Object: name, Why: "no controller has answered it",
			Remediation: "see whether moult-controller runs, and whether its --gate-namespaces leaves out " + gate.Namespace + "; right after a commit, ask again"}}
	case ready.Reason == v1alpha1.ReasonNothingStored:
		return []finding.Finding{{Severity: finding.Info, Object: name, Why: ready.Message, Remediation: "nothing if the CRD is still to come; else look at how spec.crdName is spelt"}}
	}
	severity := finding.Warning
	if meta.IsStatusConditionTrue(gate.Status.Conditions, "Stalled") {
		severity = finding.Error
	}
	var findings []finding.Finding
	for _, b := range gate.Status.Blockers {
		if b.Action != "" {
			findings = append(findings, finding.Finding{Severity: severity, Object: name, Why: b.Kind + ": " + b.Message, Remediation: b.Action})
		}
	}
	for _, w := range verdict.Noted(gate.Status.Warnings) {
		f := finding.Finding{Severity: finding.Warning, Object: name, Why: w.Kind + ": " + w.Message, Remediation: w.Action}
		if w.Action == "" {
			f.Severity, f.Remediation = finding.Info, "`moult survivors "+gate.Spec.CRDName+" --secrets` looks with a person's rights"
		}
		findings = append(findings, f)
	}
	return findings
}

// argoCDHealth: without the check, Argo CD takes a gate for healthy as soon as it is there.
func argoCDHealth(c ClusterState) Result {
	if c.ArgoCD.Not != "" {
		return Result{Outcome: NotRun, Evidence: c.ArgoCD.Not, NotAsked: c.ArgoCD.NotAsked}
	}
	severity := finding.Error
	if c.Gates.Not == "" && len(c.Gates.Value) == 0 {
		severity = finding.Warning // there is no gate yet that would hold nothing back
	}
	var findings []finding.Finding
	for _, entry := range c.ArgoCD.Value {
		if !entry.Good() {
			findings = append(findings, finding.Finding{Severity: severity, Object: "ConfigMap " + lua.ConfigMap,
				Why: fmt.Sprintf("%s is %s: it %s", entry.Key, entry.State, entry.Meaning), Remediation: entry.Remediation})
		}
	}
	return Result{Findings: findings, Evidence: "Argo CD knows when a VersionRemoval is healthy"}
}
