package preview

import (
	"reflect"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
)

// APIVersion and Kind of a Report.
const (
	APIVersion = "preview.moult.dev/v1alpha1"
	Kind       = "Report"
)

// Make joins all of it.
func Make(in Input) Report {
	r := Report{APIVersion: APIVersion, Kind: Kind, Base: in.Base, Head: in.Head, Findings: slices.Clone(in.Findings), Irrelevant: in.Unread}
	var known validated
	for _, d := range in.Clusters {
		changes := crddiff.Sets(d.Base.CRDs, d.Head.CRDs, in.LabelKey)
		roll := rollout.Of(d.Base.Cluster, d.Head.Cluster, changes, in.LabelKey)
		found := slices.Concat(d.Findings, roll.Findings, leftBehind(d, changes), shutOut(d, changes), namesRefused(d), known.refused(d))
		found = in.acknowledge(found)
		r.Findings = append(r.Findings, found...)
		r.Clusters = append(r.Clusters, d.cluster(roll))
		for _, c := range changes {
			r.Findings = append(r.Findings, slices.Concat(d.losses(c), d.wayBack(c, in.LabelKey))...)
			r.add(c, d.place(c.Name), meaningOf(in, d, c, about(found, c.Name)).inCluster())
		}
	}
	slices.SortStableFunc(r.CRDs, func(a, b ChangedCRD) int { return strings.Compare(a.Name, b.Name) })
	r.addManifests(in.Manifests, in.MayBeApplied)
	r.Findings = together(r.Findings, len(in.Clusters))
	r.soften()
	r.conclude(in.Changed)
	return r
}

func (d Delivered) cluster(roll rollout.Rollout) Cluster {
	c := Cluster{Name: d.Name, Source: d.Source, NotFollowed: roll.NotFollowed}
	if d.Snapshot != nil {
		c.TakenAt = new(d.Snapshot.TakenAt)
	}
	if d.Head.Cluster.Applied() {
		c.Rollout = &roll
	}
	return c
}

// place is where the CRD stands in the head.
func (d Delivered) place(crd string) finding.Place {
	return d.Head.Cluster.CRD(crd).Place()
}

// add puts clusters that get the very same change together.
func (r *Report) add(c crddiff.Diff, at finding.Place, meant InCluster) {
	for i := range r.CRDs {
		if same := r.CRDs[i]; same.Name == c.Name && reflect.DeepEqual(same.Diff, c) {
			r.CRDs[i].Clusters = append(r.CRDs[i].Clusters, meant)
			return
		}
	}
	r.CRDs = append(r.CRDs, ChangedCRD{Diff: c, Place: at, Clusters: []InCluster{meant}})
}

// soften makes warnings of errors in CRDs that are not blocked anywhere: what only asks more of new objects, or would lose
// something where there is nothing to lose.
func (r *Report) soften() {
	for i := range r.CRDs {
		crd := &r.CRDs[i]
		if slices.ContainsFunc(crd.Clusters, func(in InCluster) bool { return worse(in.Verdict, Warned) }) {
			continue
		}
		crd.Changes = slices.Clone(crd.Changes)
		for j := range crd.Changes {
			if crd.Changes[j].Severity == finding.Error {
				crd.Changes[j].Severity = finding.Warning
			}
		}
	}
}

// about are the findings that concern a CRD.
func about(found []finding.Finding, crd string) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return f.CRD != crd })
}

// together says once what is found in every cluster.
func together(found []finding.Finding, clusters int) []finding.Finding {
	times := map[finding.Finding]int{}
	for _, f := range found {
		f.Cluster = ""
		times[f]++
	}
	var said []finding.Finding
	for _, f := range found {
		common := f
		common.Cluster = ""
		if clusters > 1 && times[common] == clusters {
			f = common
		}
		if !slices.Contains(said, f) {
			said = append(said, f)
		}
	}
	finding.Sort(said)
	return said
}
