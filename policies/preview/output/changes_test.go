package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// heldAgainst is a report in which v1alpha1, which leaves, has so many fields that v1 lacks, and one field of v1 is new.
func heldAgainst(lost int) preview.Report {
	r := safe()
	r.Verdict, r.Sentence = preview.Blocked, "v1alpha1 has fields that v1 lacks"
	for i := range r.CRDs[0].Clusters {
		r.CRDs[0].Clusters[i].Verdict, r.CRDs[0].Clusters[i].Sentence = preview.Blocked, r.Sentence
	}
	r.CRDs[0].Changes = nil
	for i := range lost {
		severity := finding.Warning
		if i == 0 {
			severity = finding.Error
		}
		r.CRDs[0].Changes = append(r.CRDs[0].Changes, crddiff.Change{
			Rule: crddiff.FieldLost, Severity: severity, Version: "v1alpha1", Against: "v1", Field: fmt.Sprintf("spec.lost%04d", i), Why: "v1 has no such field",
		})
	}
	r.CRDs[0].Changes = append(r.CRDs[0].Changes, crddiff.Change{Rule: crddiff.FieldAdded, Severity: finding.Info, Version: "v1", Field: "spec.gained", Why: "it is new"})
	return r
}

// Where nothing converts, a version that leaves may differ from the one that stays in every field.
func TestOneVersionHeldAgainstAnotherIsFolded(t *testing.T) {
	g := NewWithT(t)
	r := heldAgainst(1510)
	for name, said := range map[string]string{
		"Markdown": Markdown(r, comments),
		"terminal": string(must(written(r, false))),
	} {
		g.Expect(strings.Count(said, "spec.lost")).To(Equal(10), name)
		g.Expect(said).To(ContainSubstring("and 1,500 more of the like: 1,500 warnings"), name)
		g.Expect(said).To(ContainSubstring("spec.gained"), name+": what changes in a version itself is found")
	}
	g.Expect(Markdown(r, comments)).To(ContainSubstring("1 error, 1,509 warnings, 1 for information"), "the summary counts them all")
	var page bytes.Buffer
	g.Expect(HTML(&page, r, PageOptions{})).To(Succeed())
	_, folded, _ := strings.Cut(page.String(), "<summary>and 1,500 more of the like")
	folded, _, _ = strings.Cut(folded, "</details>")
	g.Expect(strings.Count(folded, "spec.lost")).To(Equal(1500), "the page has them all")
	content, err := JSON(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(string(content), "spec.lost")).To(Equal(1510), "and so has the JSON")
}

func TestWhatFitsIsNotFolded(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Markdown(heldAgainst(10), comments)).NotTo(ContainSubstring("more of the like"))
	own := heldAgainst(1510)
	for i := range own.CRDs[0].Changes {
		own.CRDs[0].Changes[i].Against = ""
	}
	g.Expect(Markdown(own, comments)).NotTo(ContainSubstring("more of the like"), "what changes in a version itself")
}

func must(content []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return content
}
