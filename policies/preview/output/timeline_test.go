package output

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/verdict"
)

// A gate that stands in the right place need not hold: what the roll-out says has to agree with what is found about it.
func TestWhatAGateHoldsBack(t *testing.T) {
	const crd, cluster = "widgets.example.com", "clusters/production"
	found := func(rule string, severity finding.Severity, gate string) finding.Finding {
		return finding.Finding{Rule: rule, Severity: severity, CRD: crd, Cluster: cluster, Why: "VersionRemoval " + gate + " is as it was"}
	}
	one, other := []string{"ns/one"}, []string{"ns/one", "ns/other"}
	for name, c := range map[string]struct {
		gates []string
		state verdict.State
		found []finding.Finding
		want  string
		hold  hold
	}{
		"no gate":                    {nil, verdict.Progressing, nil, "nothing holds it back", free},
		"a gate that is shut":        {one, verdict.Progressing, nil, "held here until ns/one is Ready", shut},
		"a gate that would be open":  {one, verdict.Ready, nil, "waits for ns/one, which would be Ready now", opening},
		"a gate that is passed over": {one, verdict.Progressing, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/one")}, "not held back: VersionRemoval ns/one is as it was", free},
		"one that may be":            {one, verdict.Progressing, []finding.Finding{found(rollout.GateUnchanged, finding.Warning, "ns/one")}, "held here until ns/one is Ready; but VersionRemoval ns/one is as it was", shut},
		"nobody waits for it":        {one, verdict.Ready, []finding.Finding{found(rollout.GateNotWaitedFor, finding.Error, "ns/one")}, "not held back: VersionRemoval ns/one is as it was", free},
		"another is passed over":     {one, verdict.Progressing, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/none")}, "held here until ns/one is Ready", shut},
		"one of two is passed over":  {other, verdict.Progressing, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/one")}, "held here until ns/other is Ready", shut},
		"both are passed over": {other, verdict.Progressing, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/one"), found(rollout.GateUnchanged, finding.Error, "ns/other")},
			"not held back: VersionRemoval ns/other is as it was", free},
		"something else is found": {one, verdict.Progressing, []finding.Finding{found(rollout.SyncWaitsForever, finding.Error, "ns/one")}, "held here until ns/one is Ready", shut},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			roll := &rollout.Rollout{Steps: []rollout.Step{{Order: 1}, {Order: 2, Items: []rollout.Item{{Role: rollout.Removal, Name: crd, CRD: crd, Versions: []string{"v1alpha1"}}}}}}
			for _, gate := range c.gates {
				roll.Steps[0].Items = append(roll.Steps[0].Items, rollout.Item{Role: rollout.Gate, Name: gate, CRD: crd})
			}
			r := safe()
			r.Clusters, r.Findings = []preview.Cluster{{Name: cluster, Rollout: roll}}, c.found
			r.CRDs[0].Clusters[0].State = c.state
			waves := timeline(r, r.Clusters[0])
			got := waves[1].Steps[0].Items[0]
			g.Expect(got.Waits()).To(Equal(c.want))
			g.Expect(got.Hold).To(Equal(c.hold))
		})
	}
}

// What a gate says decides, and the tool that waits for it: what is Stalled ends the wait, and managedFields are moved
// because the gate asks for it.
func TestWhatAGateWaitsFor(t *testing.T) {
	for name, c := range map[string]struct {
		tool    delivery.Tool
		verdict preview.Verdict
		state   verdict.State
		kind    string
		want    string
		hold    hold
	}{
		"the migration is under way":         {delivery.Flux, preview.Blocked, verdict.Progressing, v1alpha1.ReasonMigrating, "held here until ns/gate is Ready", shut},
		"managedFields are being moved":      {delivery.Flux, preview.Warned, verdict.Progressing, v1alpha1.ReasonRepairingOwnership, "waits for ns/gate, which opens once managedFields are moved", opening},
		"managedFields are to be moved":      {delivery.Flux, preview.Warned, verdict.Progressing, preview.ReasonOwnershipNotRepaired, "waits for ns/gate, which opens once managedFields are moved", opening},
		"Flux fails at once":                 {delivery.Flux, preview.Blocked, verdict.Stalled, v1alpha1.ReasonIntermediateRevisionRequired, "fails here: ns/gate is Stalled (IntermediateRevisionRequired), so its Kustomization fails at once", failing},
		"Argo CD fails the sync":             {delivery.ArgoCD, preview.Blocked, verdict.Stalled, v1alpha1.ReasonNotOptedIn, "fails here: ns/gate is Degraded (NotOptedIn), so the sync fails", failing},
		"nobody knows the tool":              {"", preview.Blocked, verdict.Stalled, v1alpha1.ReasonStillServed, "fails here: ns/gate is Stalled (StillServed), and stays so until something else is committed", failing},
		"open, while a field is lost":        {delivery.Flux, preview.Blocked, verdict.Ready, "", "waits for ns/gate, which would be Ready now", opening},
		"nothing is known about the cluster": {delivery.Flux, preview.Unknown, "", "", "waits for ns/gate; whether that gets Ready is not known", unsure},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			const crd, cluster = "widgets.example.com", "clusters/production"
			r := safe()
			in := &r.CRDs[0].Clusters[0]
			in.Verdict, in.State = c.verdict, c.state
			if c.kind != "" {
				in.Blockers = []v1alpha1.Blocker{{Kind: c.kind, Message: "so it is"}}
			}
			r.Clusters = []preview.Cluster{{Name: cluster, Rollout: &rollout.Rollout{Steps: []rollout.Step{
				{Order: 1, Tool: c.tool, Items: []rollout.Item{{Role: rollout.Gate, Name: "ns/gate", CRD: crd}}},
				{Order: 2, Tool: c.tool, Items: []rollout.Item{{Role: rollout.Removal, Name: crd}}},
			}}}}
			got := timeline(r, r.Clusters[0])[1].Steps[0].Items[0]
			g.Expect(got.Waits()).To(Equal(c.want))
			g.Expect(got.Hold).To(Equal(c.hold))
			g.Expect(pageStyle).To(ContainSubstring(".hold." + string(c.hold) + " {"))
		})
	}
}
