package main

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

func TestWhoIsRight(t *testing.T) {
	no := errors.New("spec.versions is not what it was")
	about := func(v preview.Verdict, file string) preview.Report {
		return preview.Report{CRDs: []preview.ChangedCRD{{
			Diff: crddiff.Diff{Name: "widgets.example.com"}, Place: finding.Place{File: file}, Clusters: []preview.InCluster{{Verdict: v}},
		}}}
	}
	refused := about(preview.Blocked, "crds/a.yaml")
	refused.Findings = []finding.Finding{{Rule: preview.CRDRefused, CRD: "widgets.example.com", Severity: finding.Error}}
	for name, c := range map[string]struct {
		said  preview.Report
		ruled ruling
		wrong string
	}{
		"both accept": {about(preview.Safe, "crds/a.yaml"), ruling{}, ""},
		"one of the clusters refuses what is called safe":  {about(preview.Safe, "crds/a.yaml"), ruling{aged: no}, "false safe"},
		"warnings let it pass as well":                     {about(preview.Warned, "crds/a.yaml"), ruling{fresh: no}, "false safe"},
		"what is not mentioned is called safe":             {preview.Report{}, ruling{aged: no}, "false safe"},
		"another copy is unknown, and not what they apply": {about(preview.Unknown, "bundle/a.yaml"), ruling{aged: no}, "false safe"},
		"it depends on the cluster":                        {about(preview.Unknown, "crds/a.yaml"), ruling{aged: no}, ""},
		"it is unknown, and no cluster refuses":            {about(preview.Unknown, "crds/a.yaml"), ruling{}, ""},
		"it is blocked for what is lost":                   {about(preview.Blocked, "crds/a.yaml"), ruling{}, ""},
		"it is said to be refused, and is":                 {refused, ruling{fresh: no, aged: no}, ""},
		"it is said to be refused, and is not":             {refused, ruling{}, "false block"},
		"nobody could apply what it was":                   {refused, ruling{before: no}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.ruled.name = "widgets.example.com"
			wrong := pair{folders: []string{"crds"}}.disagreements(c.said, []ruling{c.ruled})
			if c.wrong == "" {
				NewWithT(t).Expect(wrong).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(wrong).To(ConsistOf(MatchError(HavePrefix(c.wrong))))
		})
	}
}

func TestACRDThatIsNotMentioned(t *testing.T) {
	g := NewWithT(t)
	differ := []crddiff.Diff{{Name: "widgets.example.com"}}
	g.Expect(unlooked(preview.Report{}, differ)).To(ConsistOf(MatchError(ContainSubstring("widgets.example.com differs"))))
	g.Expect(unlooked(preview.Report{CRDs: []preview.ChangedCRD{{Diff: differ[0]}}}, differ)).To(BeEmpty())
}
