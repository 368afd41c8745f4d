package output

import (
	"encoding/json"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/preview"
)

func fingerprints(g *WithT, r preview.Report) (all []string) {
	content, err := CodeQuality(r)
	g.Expect(err).NotTo(HaveOccurred())
	var issues []issue
	g.Expect(json.Unmarshal(content, &issues)).To(Succeed())
	for _, i := range issues {
		all = append(all, i.Fingerprint)
	}
	return all
}

// GitLab takes an issue with another fingerprint for another issue: it would report as new and as fixed, with every
// pipeline, what is as it was.
func TestAFingerprintOutlivesTheClock(t *testing.T) {
	for name, change := range map[string]func(*preview.Report){
		"nothing":               func(*preview.Report) {},
		"a snapshot gets older": func(r *preview.Report) { r.CRDs[0].Clusters[0].Sentence = "the snapshot of production is 49h0m0s old" },
		"a migration goes on": func(r *preview.Report) {
			r.CRDs[0].Clusters[0].Blockers = []v1alpha1.Blocker{{Message: "3 of 48,210 objects"}}
		},
		"a reason gives way to another": func(r *preview.Report) { r.CRDs[0].Clusters[0].Reason = v1alpha1.ReasonSettling },
		"lines move": func(r *preview.Report) {
			r.Findings = slices.Clone(r.Findings)
			r.Findings[0].Place.Line += 7
		},
		"advice gets better": func(r *preview.Report) {
			r.Findings = slices.Clone(r.Findings)
			r.Findings[0].Remediation = "do something else"
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := blockedInOneOfThree(), blockedInOneOfThree()
			change(&after)
			g.Expect(fingerprints(g, after)).To(Equal(fingerprints(g, before)))
		})
	}
	for name, change := range map[string]func(*preview.Report){
		"the verdict changes":     func(r *preview.Report) { r.CRDs[0].Clusters[0].Verdict = preview.Warned },
		"another file is meant":   func(r *preview.Report) { r.Findings[0].Place.File = "other.yaml" },
		"another thing is found":  func(r *preview.Report) { r.Findings[0].Why = "something else" },
		"another rule has found":  func(r *preview.Report) { r.Findings[0].Rule = "Other" },
		"another object is meant": func(r *preview.Report) { r.Manifests[0].Object = "Widget shop/side" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := blockedInOneOfThree(), blockedInOneOfThree()
			change(&after)
			g.Expect(fingerprints(g, after)).NotTo(ConsistOf(fingerprints(g, before)))
			all := fingerprints(g, after)
			slices.Sort(all)
			g.Expect(slices.Compact(slices.Clone(all))).To(Equal(all), "no two are the same")
		})
	}
}
