package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
)

// disagreements are where the preview and the API server do not say the same of a release, of whose clusters nobody has told
// the preview anything:
//
//   - false safe: the API server refuses a CRD, in a fresh cluster or in an aged one, and the preview lets it pass, with
//     warnings or without.
//   - false block: the preview says that the API server refuses a CRD, and it accepts it in both.
//
// Unknown is right either way: whether the API server accepts depends on the cluster. A CRD may lie in a module several times;
// what is judged is the one that the project installs.
func (p pair) disagreements(r preview.Report, rulings []ruling) (wrong []error) {
	for _, ruled := range rulings {
		if ruled.before != nil {
			continue // nothing to compare with
		}
		said, rule := verdictOn(r, ruled.name, p.installs), p.saidRefused(r, ruled.name)
		switch {
		case ruled.refused() != nil && said.Weight() < preview.Unknown.Weight():
			wrong = append(wrong, fmt.Errorf("false safe: the preview of %s is %s, and the API server says: %w", ruled.name, said, ruled.refused()))
		case ruled.refused() == nil && rule != "":
			wrong = append(wrong, fmt.Errorf("false block: %s is said to be refused (%s), and the API server accepts it", ruled.name, rule))
		}
	}
	return wrong
}

// installs reports whether a place is one of those that the project installs its CRDs from, or may be.
func (p pair) installs(at finding.Place) bool {
	return at.File == "" || slices.ContainsFunc(p.folders, func(folder string) bool { return strings.HasPrefix(at.File, folder+"/") })
}

// verdictOn is the worst that the preview says of a CRD in some places; safe if it does not mention it.
func verdictOn(r preview.Report, name string, in func(finding.Place) bool) preview.Verdict {
	worst := preview.Safe
	for _, c := range r.CRDs {
		if c.Name != name || !in(c.Place) {
			continue
		}
		for _, cluster := range c.Clusters {
			if cluster.Verdict.Weight() > worst.Weight() {
				worst = cluster.Verdict
			}
		}
	}
	return worst
}

// anywhere is every place.
func anywhere(finding.Place) bool { return true }

// refusing are the rules that say of a CRD that the API server refuses it, whatever a cluster stores.
var refusing = []string{
	preview.CRDRefused, preview.NameRefused, rollout.FlipWithRemoval, preview.CRDRefusedBefore,
	string(crddiff.GroupChanged), string(crddiff.KindChanged), string(crddiff.PluralChanged), string(crddiff.ScopeChanged),
}

// saidRefused is the rule by which the preview says that the API server refuses a CRD, if it does.
func (p pair) saidRefused(r preview.Report, name string) string {
	i := slices.IndexFunc(r.Findings, func(f finding.Finding) bool {
		return f.CRD == name && p.installs(f.Place) && slices.Contains(refusing, f.Rule)
	})
	if i < 0 {
		return ""
	}
	return r.Findings[i].Rule
}

// unlooked are the CRDs that differ between two releases, and of which the report says nothing.
func unlooked(r preview.Report, differ []crddiff.Diff) (wrong []error) {
	for _, d := range differ {
		if !slices.ContainsFunc(r.CRDs, func(c preview.ChangedCRD) bool { return c.Name == d.Name }) {
			wrong = append(wrong, fmt.Errorf("%s differs, and the preview does not mention it", d.Name))
		}
	}
	return wrong
}
