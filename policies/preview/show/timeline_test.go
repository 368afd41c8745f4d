package show

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
)

// A gate that stands in the right place need not hold: what the roll-out says has to agree with what is found about it.
func TestWhatAGateHoldsBack(t *testing.T) {
	const crd, cluster = "widgets.example.com", "clusters/production"
	found := func(rule string, severity finding.Severity, gate string) finding.Finding {
		return finding.Finding{Rule: rule, Severity: severity, CRD: crd, Cluster: cluster, Why: "VersionRemoval " + gate + " is as it was"}
	}
	one, other := []string{"ns/one"}, []string{"ns/one", "ns/other"}
	for name, c := range map[string]struct {
		gates   []string
		verdict preview.Verdict
		found   []finding.Finding
		want    string
		hold    hold
	}{
		"no gate":                    {nil, preview.Blocked, nil, "nothing holds it back", free},
		"a gate that is shut":        {one, preview.Blocked, nil, "held here until ns/one is Ready", shut},
		"a gate that would be open":  {one, preview.Safe, nil, "waits for ns/one, which would be Ready now", opening},
		"a gate that is passed over": {one, preview.Blocked, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/one")}, "not held back: VersionRemoval ns/one is as it was", free},
		"one that may be":            {one, preview.Blocked, []finding.Finding{found(rollout.GateUnchanged, finding.Warning, "ns/one")}, "held here until ns/one is Ready; but VersionRemoval ns/one is as it was", shut},
		"nobody waits for it":        {one, preview.Safe, []finding.Finding{found(rollout.GateNotWaitedFor, finding.Error, "ns/one")}, "not held back: VersionRemoval ns/one is as it was", free},
		"another is passed over":     {one, preview.Blocked, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/none")}, "held here until ns/one is Ready", shut},
		"one of two is passed over":  {other, preview.Blocked, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/one")}, "held here until ns/other is Ready", shut},
		"both are passed over": {other, preview.Blocked, []finding.Finding{found(rollout.GateUnchanged, finding.Error, "ns/one"), found(rollout.GateUnchanged, finding.Error, "ns/other")},
			"not held back: VersionRemoval ns/other is as it was", free},
		"something else is found": {one, preview.Blocked, []finding.Finding{found(rollout.SyncWaitsForever, finding.Error, "ns/one")}, "held here until ns/one is Ready", shut},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			roll := &rollout.Rollout{Steps: []rollout.Step{{Order: 1}, {Order: 2, Items: []rollout.Item{{Role: rollout.Removal, Name: crd, CRD: crd, Versions: []string{"v1alpha1"}}}}}}
			for _, gate := range c.gates {
				roll.Steps[0].Items = append(roll.Steps[0].Items, rollout.Item{Role: rollout.Gate, Name: gate, CRD: crd})
			}
			r := safe()
			r.Clusters, r.Findings = []preview.Cluster{{Name: cluster, Rollout: roll}}, c.found
			r.CRDs[0].Clusters[0].Verdict = c.verdict
			waves := timeline(r, r.Clusters[0])
			got := waves[1].steps[0].items[0]
			g.Expect(got.waits()).To(Equal(c.want))
			g.Expect(got.hold).To(Equal(c.hold))
		})
	}
}
