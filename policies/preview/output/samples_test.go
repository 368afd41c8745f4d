package output

import (
	"fmt"
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/verdict"
)

// samples are the reports of testdata, each by the name of its folder.
var samples = map[string]preview.Report{
	"safe":                                   safe(),
	"blocked-in-one-of-three-clusters":       blockedInOneOfThree(),
	"nothing-is-known-about-a-cluster":       unknownCluster(),
	"warnings-only":                          warningsOnly(),
	"more-findings-than-a-comment-can-bear":  manyFindings(),
	"names-that-are-written-to-break-things": hostile(),
	"no-crd-changes":                         nothing(),
	"a-crd-that-no-cluster-gets":             undelivered(),
	"a-version-that-shares-little":           heldAgainst(40),
}

var takenAt = time.Date(2026, 11, 20, 14, 5, 0, 0, time.UTC)

func nothing() preview.Report {
	return preview.Report{
		APIVersion: "preview.moult.dev/v1alpha1", Kind: "Report", Base: "git:main:clusters", Head: "git:remove-v1alpha1:clusters",
		Verdict: preview.Safe, Sentence: "no CRD changes",
	}
}

func safe() preview.Report {
	r := nothing()
	r.Sentence = "no object is stored at v1alpha1 of widgets.example.com"
	r.Clusters = []preview.Cluster{
		cluster("clusters/production", "snapshot production.json", argoCD(-1, 0)),
		cluster("clusters/staging", "context staging", flux()),
	}
	r.CRDs = []preview.ChangedCRD{widgets(inCluster("clusters/production", preview.Safe, 1204), inCluster("clusters/staging", preview.Safe, 17))}
	return r
}

func blockedInOneOfThree() preview.Report {
	r := safe()
	r.Verdict, r.Sentence = preview.Blocked, "widgets.example.com v1alpha1 in clusters/production: 312 of 48,210 objects are still stored at v1alpha1"
	production := inCluster("clusters/production", preview.Blocked, 48210)
	production.Reason, production.Sentence, production.Proved = v1alpha1.ReasonMigrating, "312 of 48,210 objects are still stored at v1alpha1", false
	production.State = verdict.Progressing
	production.StoredVersions = []string{"v1alpha1", "v1"}
	production.Blockers = []v1alpha1.Blocker{
		{Kind: v1alpha1.ReasonMigrating, Message: "312 of 48,210 objects are still stored at v1alpha1"},
		{Kind: v1alpha1.ReasonStillWritten, Message: "field manager legacy-controller wrote 38 objects at v1alpha1 two hours ago", Action: "upgrade legacy-controller in widgets-system, so that it writes at v1"},
	}
	production.Gate = "widgets-system/widgets-v1alpha1"
	staging := inCluster("clusters/staging", preview.Safe, 17)
	staging.Gate, staging.GateReady = "widgets-system/widgets-v1alpha1", true
	edge := inCluster("clusters/edge", preview.Warned, 3)
	edge.Reason, edge.Sentence = "NoSyncTimeout", "the Application has no timeout, so a gate that never opens holds it for ever"
	edge.Warnings = []v1alpha1.Blocker{{Kind: "Revisions", Message: "3 ControllerRevisions name v1alpha1", Action: "let the operator prune its revisions"}}
	r.Clusters = append(r.Clusters, cluster("clusters/edge", "snapshot edge.json", argoCD(0, 0)))
	r.CRDs[0].Clusters = []preview.InCluster{production, staging, edge}
	r.Findings = []finding.Finding{
		{
			Rule: "NoSyncTimeout", Severity: finding.Warning, CRD: "widgets.example.com", Cluster: "clusters/edge", Place: finding.Place{File: "clusters/edge/crds.yaml", Line: 9},
			Why:         "the Application has no timeout, so a gate that never opens holds it for ever",
			Remediation: "set `spec.syncPolicy.retry.limit` on the Application",
		},
		{
			Rule: "ServerSideDiff", Severity: finding.Info, Cluster: "clusters/staging", Place: finding.Place{File: "clusters/staging/crds.yaml", Line: 22},
			Why: "with ServerSideDiff the Application shows an error until the gate has opened",
		},
	}
	r.Manifests = []preview.Manifest{
		{Place: finding.Place{File: "apps/shop/widget.yaml", Line: 1}, CRD: "widgets.example.com", Version: "v1alpha1", Object: "Widget shop/front", Rewritable: true},
		{Place: finding.Place{File: "apps/shop/widget.yaml", Line: 14}, CRD: "widgets.example.com", Version: "v1alpha1", Object: "Widget shop/back", Rewritable: true},
		{Place: finding.Place{File: "apps/legacy/gadget.yaml"}, CRD: "gadgets.example.com", Version: "v1beta1", Object: "Gadget legacy/one"},
	}
	return r
}

func unknownCluster() preview.Report {
	r := safe()
	r.Verdict, r.Sentence = preview.Unknown, "nothing is known about what clusters/edge stores"
	r.Clusters = append(r.Clusters, preview.Cluster{Name: "clusters/edge"})
	r.CRDs[0].Clusters = append(r.CRDs[0].Clusters, preview.InCluster{
		Cluster: "clusters/edge", Verdict: preview.Unknown, Reason: "NotLookedAt", Sentence: "neither a context nor a snapshot was given",
	})
	return r
}

func warningsOnly() preview.Report {
	r := safe()
	r.Verdict, r.Sentence = preview.Warned, "nothing breaks, but a field of v1 has gone"
	r.CRDs[0].Changes = append([]crddiff.Change{{
		Rule: "FieldRemoved", Severity: finding.Warning, Version: "v1", Field: "spec.color", From: "string",
		Why: "the API server drops it from objects that have it, at their next write",
	}}, r.CRDs[0].Changes...)
	r.Findings = []finding.Finding{{
		Rule: "ServerSideDiff", Severity: finding.Warning, CRD: "widgets.example.com", Place: finding.Place{File: "apps/crds.yaml", Line: 22},
		Why: "with ServerSideDiff the Application shows an error until the gate has opened",
	}}
	return r
}

func undelivered() preview.Report {
	r := nothing()
	r.Verdict, r.Sentence = preview.Unknown, "gadgets.example.com loses v1beta1, and no entry point was given"
	r.CRDs = []preview.ChangedCRD{{
		Diff:  crddiff.Diff{Name: "gadgets.example.com", Kind: "Gadget", Base: &crddiff.Shape{Group: "example.com", Scope: "Cluster", Storage: "v1", Conversion: "Webhook", Versions: []crddiff.Version{{Name: "v1beta1", Served: true, Deprecated: true, DeprecationWarning: "use v1"}, {Name: "v1", Served: true, Storage: true}}}, Removed: []string{"v1beta1"}},
		Place: finding.Place{File: "crds/gadgets.yaml"},
	}}
	return r
}

func manyFindings() preview.Report {
	r := blockedInOneOfThree()
	for i := range 30 {
		crd := widgets(r.CRDs[0].Clusters[i%3], inCluster("clusters/edge", preview.Safe, int64(i)))
		crd.Name = fmt.Sprintf("kind%02ds.example.com", i)
		for j := range 8 {
			crd.Changes = append(crd.Changes, crddiff.Change{
				Rule: "FieldAdded", Severity: finding.Info, Version: "v1", Field: fmt.Sprintf("spec.template.spec.containers[*].field%d", j), To: "string", Why: "objects that lack it keep lacking it",
			})
		}
		r.CRDs = append(r.CRDs, crd)
	}
	for i := range 150 {
		r.Findings = append(r.Findings, finding.Finding{
			Rule: "ReplacedCRD", Severity: []finding.Severity{finding.Error, finding.Warning, finding.Info}[i%3], CRD: fmt.Sprintf("kind%02ds.example.com", i%30),
			Place: finding.Place{File: fmt.Sprintf("apps/team-%d/crds.yaml", i), Line: i}, Why: "Replace=true sends the CRD whole, so that every label that is not in Git is lost at each sync", Remediation: "take Replace=true out of the annotation",
		})
	}
	finding.Sort(r.Findings)
	return r
}

// attack is a name that no person writes by mistake.
const attack = "</details><script>alert(1)</script> | a | b\n# head\n<!-- moult preview: default --> `x` **bold** [link](javascript:alert(1)) @everyone #1 " +
	"https://evil.example/?q=|\r\n::error file=x::y %0A $a$ :tada: \x1b[31mred\x1b[0m \u202egnp.exe \xff\x00 ~~gone~~ <img src=x onerror=alert(1)> &copy; \\| www.evil.example"

func hostile() preview.Report {
	r := blockedInOneOfThree()
	in := inCluster(attack, preview.Blocked, 1)
	in.State = verdict.Stalled
	in.Reason, in.Sentence, in.StoredVersions, in.Gate = attack, attack, []string{attack, "v1"}, attack
	in.Blockers = []v1alpha1.Blocker{{Kind: attack, Message: attack, Action: attack}}
	in.Warnings = []v1alpha1.Blocker{{Kind: attack, Message: "1. " + attack}}
	r.Base, r.Head, r.Sentence = attack, attack, attack
	wave := 1
	r.Clusters = []preview.Cluster{{Name: attack, Source: attack, TakenAt: &takenAt, Rollout: &rollout.Rollout{Cluster: attack, Steps: []rollout.Step{
		{Order: 1, Tool: delivery.ArgoCD, Unit: attack, Phase: attack, Wave: &wave, After: []string{attack}, Items: []rollout.Item{{Role: rollout.Gate, Name: attack, CRD: attack, Versions: []string{attack}}}},
		{Order: 2, Tool: delivery.ArgoCD, Unit: attack, Items: []rollout.Item{{Role: rollout.Removal, Name: attack, Versions: []string{attack}, Place: finding.Place{File: attack, Line: 3}}}},
	}}}}
	r.CRDs = []preview.ChangedCRD{{
		Diff: crddiff.Diff{Name: attack, Kind: attack, Removed: []string{attack}, Base: shape(attack), Head: shape("v1"), Changes: []crddiff.Change{
			{Rule: attack, Severity: finding.Error, Version: attack, Against: attack, Field: attack, From: attack, To: attack, Why: attack},
		}},
		Place: finding.Place{File: attack, Line: 3}, Clusters: []preview.InCluster{in},
	}}
	r.Findings = []finding.Finding{{Rule: attack, Severity: finding.Error, CRD: attack, Cluster: attack, Place: finding.Place{File: attack, Line: 3}, Why: attack, Remediation: attack}}
	r.Manifests = []preview.Manifest{{Place: finding.Place{File: "javascript:alert(1)//" + attack}, CRD: attack, Version: attack, Object: attack}}
	return r
}

func cluster(name, source string, steps []rollout.Step) preview.Cluster {
	return preview.Cluster{Name: name, Source: source, TakenAt: &takenAt, Rollout: &rollout.Rollout{Cluster: name, Steps: steps}}
}

// argoCD is an Application whose gate and CRD are in the given waves.
func argoCD(gate, crd int) []rollout.Step {
	g := rollout.Item{Role: rollout.Gate, Name: "widgets-system/widgets-v1alpha1", CRD: "widgets.example.com", Versions: []string{"v1alpha1"}, Place: finding.Place{File: "deploy/gate.yaml", Line: 1}}
	c := rollout.Item{Role: rollout.Removal, Name: "widgets.example.com", Versions: []string{"v1alpha1"}, Place: finding.Place{File: "crds/widgets.yaml", Line: 12}}
	if gate == crd {
		return []rollout.Step{{Order: 1, Tool: delivery.ArgoCD, Unit: "argocd/widgets", Wave: &crd, Items: []rollout.Item{g, c}, Others: 14}}
	}
	return []rollout.Step{
		{Order: 1, Tool: delivery.ArgoCD, Unit: "argocd/widgets", Wave: &gate, Items: []rollout.Item{g}, Others: 1},
		{Order: 2, Tool: delivery.ArgoCD, Unit: "argocd/widgets", Wave: &crd, Items: []rollout.Item{c}, Others: 13},
	}
}

func flux() []rollout.Step {
	return []rollout.Step{
		{Order: 1, Tool: delivery.Flux, Unit: "flux-system/gates", Items: []rollout.Item{{Role: rollout.Gate, Name: "widgets-system/widgets-v1alpha1", CRD: "widgets.example.com", Versions: []string{"v1alpha1"}}}},
		{Order: 2, Tool: delivery.Flux, Unit: "flux-system/crds", After: []string{"flux-system/gates"}, Items: []rollout.Item{
			{Role: rollout.Removal, Name: "widgets.example.com", Versions: []string{"v1alpha1"}}, {Role: rollout.Changed, Name: "gears.example.com"},
		}},
		{Order: 3, Tool: delivery.Flux, Unit: "flux-system/apps", After: []string{"flux-system/crds"}, Items: []rollout.Item{{Role: rollout.Flip, Name: "cogs.example.com"}}, Others: 210},
	}
}

func inCluster(name string, v preview.Verdict, objects int64) preview.InCluster {
	return preview.InCluster{
		Cluster: name, Verdict: v, Reason: v1alpha1.ReasonSafeToRemove, Sentence: "nothing is stored at v1alpha1, and no managedFields name it",
		State: verdict.Ready, StoredVersions: []string{"v1"}, Objects: &objects, Proved: true,
	}
}

func shape(old string) *crddiff.Shape {
	label := "true"
	return &crddiff.Shape{Group: "example.com", Scope: "Namespaced", Storage: "v1", Conversion: "None", Label: &label, Versions: []crddiff.Version{
		{Name: old, Served: true, Deprecated: true, DeprecationWarning: strings.ToUpper(old)}, {Name: "v1", Served: true, Storage: true},
	}}
}

func widgets(in ...preview.InCluster) preview.ChangedCRD {
	head := shape("v1alpha1")
	head.Versions = head.Versions[1:]
	return preview.ChangedCRD{
		Diff: crddiff.Diff{Name: "widgets.example.com", Kind: "Widget", Removed: []string{"v1alpha1"}, Base: shape("v1alpha1"), Head: head, Changes: []crddiff.Change{
			{Rule: "VersionRemoved", Severity: finding.Warning, Version: "v1alpha1", From: "served, deprecated", Why: "clients that ask for v1alpha1 get 404 Not Found"},
			{Rule: "DefaultChanged", Severity: finding.Warning, Version: "v1", Field: "spec.replicas", From: "1", To: "2", Why: "objects that leave it out mean something else from then on"},
			{Rule: "FieldLost", Severity: finding.Warning, Version: "v1alpha1", Against: "v1", Field: "spec.colour", From: "string", Why: "v1 has no such field, so an object that has it loses it when it is rewritten"},
			{Rule: "FieldAdded", Severity: finding.Info, Version: "v1", Field: "spec.tolerations[*].key", To: "string", Why: "objects that lack it keep lacking it"},
		}},
		Place: finding.Place{File: "crds/widgets.yaml", Line: 12}, Clusters: in,
	}
}
