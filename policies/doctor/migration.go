package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/policies/words"
)

// migrating: does a person have to act before the old versions could go? The gate's own rules are asked, with what the
// condition shows.
func migrating(c ClusterState) Result {
	counts := map[verdict.State]int{}
	findings := c.all(func(crd ExaminedCRD) []finding.Finding {
		if !crds.OptedIn(crd, c.LabelKey) {
			return nil // labelInGit has reported that
		}
		v := verdict.Judge(c.situation(crd))
		switch {
		case v.Rule == verdict.NotSeenYet:
			return []finding.Finding{{Severity: finding.Warning, Object: crd.Name, Why: fmt.Sprintf("moult-controller has not looked at generation %d of the CRD", crd.Generation),
				Remediation: "see whether moult-controller runs, with this label key and with the CRD's group in --crd-groups; right after a commit, ask again"}}
		case len(v.Blockers) == 0:
			counts[settled(v)]++
			return nil
		}
		return toMend(crd.Name, v)
	})
	return Result{Findings: findings, Evidence: fmt.Sprintf("%s migrated, %s on the way, and no person has to act",
		words.Count(counts[verdict.Ready], "CRD"), words.Count(counts[verdict.Progressing], "CRD"))}
}

// settled takes a CRD whose proof stands for migrated: only when versions are to go are managedFields looked through.
func settled(v verdict.Verdict) verdict.State {
	if v.Reason == v1alpha1.ReasonRepairingOwnership {
		return verdict.Ready
	}
	return v.State
}

func toMend(object string, v verdict.Verdict) (findings []finding.Finding) {
	severity := finding.Error
	if v.State == verdict.Progressing && (v.Reason == v1alpha1.ReasonPaused || v.Reason == v1alpha1.ReasonStandingBack || v.Reason == v1alpha1.ReasonUnavailable) {
		severity = finding.Warning
	}
	for _, b := range v.Blockers {
		findings = append(findings, finding.Finding{Severity: severity, Object: object, Why: b.Kind + ": " + b.Message, Remediation: cmp.Or(b.Action, "wait; it passes by itself")})
	}
	return findings
}

// situation is what the gate would be asked if all older versions were to go.
func (c ClusterState) situation(crd ExaminedCRD) verdict.Situation {
	s := verdict.Situation{
		Now: c.Now, LabelKey: c.LabelKey, Removal: v1alpha1.VersionRemovalSpec{CRDName: crd.Name, Versions: crd.older()},
		CRD: verdict.Describe(crd.CustomResourceDefinition, c.LabelKey, nil),
	}
	if c := apihelpers.FindCRDCondition(crd.CustomResourceDefinition, v1alpha1.StorageMigrated); c != nil && v1alpha1.SpeaksOf(c.Message, crd.Generation) {
		_, sentence, _ := strings.Cut(c.Message, ": ")
		s.Migration = &plan.MigrationStatus{
			Subject: s.CRD.Subject, Decision: plan.Decision{Reason: c.Reason, Sentence: sentence},
			Evidence: plan.Evidence{Subject: s.CRD.Subject, Proved: c.Status == apiextensionsv1.ConditionTrue},
		}
	}
	return s
}
