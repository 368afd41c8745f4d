package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// conclude takes the worst there is for the verdict, and says it.
func (r *Report) conclude(changed []string) {
	r.Verdict = Safe
	for _, f := range r.Findings {
		if v := verdictOfFinding(f); worse(v, r.Verdict) {
			r.Verdict = v
		}
	}
	for _, crd := range r.CRDs {
		for _, in := range crd.Clusters {
			if worse(in.Verdict, r.Verdict) {
				r.Verdict = in.Verdict
			}
		}
	}
	r.Sentence = r.sentence(changed)
}

// sentence names what decided: the CRDs in the clusters, or else a finding. Of what follows from a change, one about a file that changes says it
// best.
func (r *Report) sentence(changed []string) string {
	if n := int64(r.acknowledged()); r.Verdict == Safe && n > 0 {
		return fmt.Sprintf("nothing that is known breaks, and %s %s acknowledged", words.Count(n, "unknown thing"), words.Agree(n, "is", "are"))
	}
	if r.Verdict == Safe {
		return r.safely()
	}
	var decided []string
	for _, crd := range r.CRDs {
		var where []string
		var first InCluster
		for _, in := range crd.Clusters {
			if in.Verdict == r.Verdict {
				if len(where) == 0 {
					first = in
				}
				where = append(where, in.Cluster)
			}
		}
		if len(where) > 0 {
			decided = append(decided, crd.subject(first)+inClusters(where)+": "+first.Sentence)
		}
	}
	if len(decided) > 0 {
		return words.FewClauses(decided, 1)
	}
	deciding := slices.DeleteFunc(slices.Clone(r.Findings), func(f finding.Finding) bool { return verdictOfFinding(f) != r.Verdict })
	if len(deciding) == 0 {
		return string(r.Verdict)
	}
	return deciding[max(0, slices.IndexFunc(deciding, func(f finding.Finding) bool { return slices.Contains(changed, f.Place.File) }))].Why
}

// acknowledged counts what is not known and counts as safe, because a person has acknowledged it.
func (r *Report) acknowledged() (n int) {
	for _, f := range r.Findings {
		if f.Acknowledged != "" {
			n++
		}
	}
	for _, crd := range r.CRDs {
		for _, in := range crd.Clusters {
			if in.Reason == ReasonAcknowledged {
				n++
			}
		}
	}
	return n
}

func (r *Report) safely() string {
	var removals []string
	for _, crd := range r.CRDs {
		if len(crd.Removed) > 0 {
			removals = append(removals, strings.Join(crd.Removed, ", ")+" of "+crd.Name)
		}
	}
	switch {
	case len(r.CRDs) == 0:
		return "no CRD changes"
	case len(removals) == 0:
		return "no version leaves, and nothing that is stored is lost"
	default:
		return "no object is stored at " + strings.Join(slices.Compact(removals), " or ")
	}
}

// subject is what a sentence is about: the versions that leave, unless it names them itself or is about something else in
// the CRD.
func (c ChangedCRD) subject(decided InCluster) string {
	names := func(version string) bool {
		return strings.HasPrefix(decided.Sentence, version+" ") || strings.HasPrefix(decided.Sentence, version+":") || strings.HasPrefix(decided.Sentence, refusedFor)
	}
	ofAChange := slices.ContainsFunc(c.Changes, func(one crddiff.Change) bool { return string(one.Rule) == decided.Reason })
	if len(c.Removed) == 0 || ofAChange || slices.ContainsFunc(c.Removed, names) {
		return c.Name
	}
	return strings.Join(c.Removed, ", ") + " of " + c.Name
}

// inClusters names the clusters, none if they have no names.
func inClusters(clusters []string) string {
	named := slices.DeleteFunc(slices.Clone(clusters), func(name string) bool { return name == "" })
	if len(named) == 0 {
		return ""
	}
	return " in " + strings.Join(named, ", ")
}
