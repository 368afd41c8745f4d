package preview_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
)

// A chart that changes, and a version that leaves in a cluster of which nothing is known.
func TestWhatIsUnknownCanBeAcknowledgedForATime(t *testing.T) {
	unseen := finding.Finding{Rule: rollout.UnseenChanged, Severity: finding.Warning, Object: "HelmRelease apps/redis", Why: "it changes"}
	for name, c := range map[string]struct {
		chart bool
		what  string
		until string
		want  preview.Verdict
		says  string
	}{
		"nobody does":                   {true, "", "", preview.Unknown, "it changes"},
		"the chart":                     {true, "HelmRelease apps/redis", "2026-01-03", preview.Safe, "nothing that is known breaks, and 1 unknown thing is acknowledged"},
		"on the last day":               {true, "HelmRelease apps/redis", "2026-01-02", preview.Safe, ""},
		"by a pattern":                  {true, "HelmRelease apps/*", "2026-01-03", preview.Safe, ""},
		"another chart":                 {true, "HelmRelease apps/other", "2026-01-03", preview.Unknown, "it changes"},
		"a pattern is of one namespace": {true, "*", "2026-01-03", preview.Unknown, "it changes"},
		"until yesterday":               {true, "HelmRelease apps/redis", "2026-01-01", preview.Unknown, "it was acknowledged until 2026-01-01 (because): look again"},
		"the CRD":                       {false, widgets, "2026-01-03", preview.Safe, "1 unknown thing is acknowledged"},
		"another CRD":                   {false, "gadgets.example.com", "2026-01-03", preview.Unknown, "what the cluster stores is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := preview.Input{Now: noon, LabelKey: "moult.dev/migrate", Clusters: []preview.Delivered{{}}}
			if c.chart {
				in.Clusters[0].Findings = []finding.Finding{unseen}
			} else {
				in.Clusters[0].Base, in.Clusters[0].Head = crds(crd("v1alpha1", "v1")), crds(crd("v1"))
			}
			if c.what != "" {
				in.Acknowledgements = preview.Acknowledgements{{What: c.what, Why: "because", Until: c.until}}
			}
			r := preview.Make(in)
			g.Expect(r.Verdict).To(Equal(c.want), "%s", r.Sentence)
			g.Expect(r.Sentence).To(ContainSubstring(c.says))
		})
	}
}

// What is known to break cannot be wished away.
func TestWhatIsBlockedCannotBeAcknowledged(t *testing.T) {
	blocked := finding.Finding{Rule: preview.CRDRefused, Severity: finding.Error, Object: widgets, CRD: widgets, Why: "it is refused"}
	r := preview.Make(preview.Input{
		Now: noon, LabelKey: "moult.dev/migrate", Clusters: []preview.Delivered{{Findings: []finding.Finding{blocked}}},
		Acknowledgements: preview.Acknowledgements{{What: widgets, Why: "because", Until: "2026-01-03"}},
	})
	NewWithT(t).Expect(r.Verdict).To(Equal(preview.Blocked))
}

func TestAcknowledgementsAreReadStrictly(t *testing.T) {
	for content, says := range map[string]string{
		"acknowledge: [{what: a, why: b, until: 2026-06-01}]": "",
		"{}":                               "",
		"acknowledge: [{what: a, why: b}]": `acknowledge[0]: until: "" is no day; write it like 2026-12-31`,
		"acknowledge: [{what: a, why: b, until: tomorrow}]":     "is no day",
		"acknowledge: [{what: a, why: b, until: 2029-01-01}]":   "more than a year ahead",
		"acknowledge: [{what: a, why: b, until: 2027-01-03}]":   "until: 2027-01-03 is more than a year ahead",
		"acknowledge: [{what: a, why: b, until: 2027-01-02}]":   "",
		"acknowledge: [{what: a, until: 2026-06-01}]":           "why is missing",
		"acknowledge: [{why: b, until: 2026-06-01}]":            "names nothing",
		"acknowledge: [{what: '[', why: b, until: 2026-06-01}]": "names nothing",
		"acknowledged: []": `unknown field "acknowledged"`,
		"- a":              ".moult.yaml: ",
	} {
		_, err := preview.ReadAcknowledgements([]byte(content), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
		if says == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), content)
			continue
		}
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), content)
	}
}
