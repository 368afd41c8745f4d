package output

import (
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// row is what one CRD's change means in one cluster.
type row struct {
	crd preview.ChangedCRD
	in  preview.InCluster
	// delivered is false when no cluster gets the CRD, and then there is no verdict.
	delivered bool
	// inTheWay are the reasons for the verdict, toDo what somebody has to do about it.
	inTheWay, toDo []string
}

// rows are all of them, the CRDs and the clusters with the gravest verdict first.
func rows(r preview.Report) []row {
	var all []row
	for _, crd := range gravestFirst(r) {
		if len(crd.Clusters) == 0 {
			all = append(all, row{crd: crd, inTheWay: []string{"no entry point that was looked at gets this CRD"}})
			continue
		}
		clusters := slices.Clone(crd.Clusters)
		slices.SortStableFunc(clusters, func(a, b preview.InCluster) int {
			return b.Verdict.Weight() - a.Verdict.Weight()
		})
		for _, in := range clusters {
			all = append(all, row{crd: crd, in: in, delivered: true, inTheWay: inTheWay(in), toDo: toDo(r, crd, in)})
		}
	}
	return all
}

// gravestFirst are the CRDs with the gravest verdict first.
func gravestFirst(r preview.Report) []preview.ChangedCRD {
	crds := slices.Clone(r.CRDs)
	slices.SortStableFunc(crds, func(a, b preview.ChangedCRD) int { return worst(b) - worst(a) })
	return crds
}

// worst is the weight of a CRD's gravest verdict, -1 without any.
func worst(crd preview.ChangedCRD) int {
	gravest := -1
	for _, in := range crd.Clusters {
		gravest = max(gravest, in.Verdict.Weight())
	}
	return gravest
}

func (r row) badge() badge {
	if !r.delivered {
		return badge{Symbol: "·", Mark: "·", Word: "no verdict", Class: "none", Color: "2"}
	}
	return badgeOfVerdict(r.in.Verdict)
}

func (r row) cluster() string {
	if !r.delivered {
		return "–"
	}
	return clusterName(r.in.Cluster)
}

// inTheWay is the sentence of the verdict, and what a VersionRemoval would name unless the sentence says it already.
func inTheWay(in preview.InCluster) []string {
	said := appendNew(nil, plain(in.Sentence))
	for _, b := range slices.Concat(in.Blockers, in.Warnings) {
		message := plain(b.Message)
		if len(said) == 0 || !strings.Contains(said[0], message) {
			said = appendNew(said, message)
		}
	}
	return said
}

// reasonsHeading heads the reasons: only where something blocks, or may, do they stand in the way.
func reasonsHeading(r preview.Report, otherwise string) string {
	if r.Verdict == preview.Blocked || r.Verdict == preview.Unknown {
		return "What stands in the way"
	}
	return otherwise
}

// severities are those of the reasons, but for what is counted with the findings or with the changes.
func (r row) severities(found []finding.Finding) []finding.Severity {
	var all []finding.Severity
	for i, said := range r.inTheWay {
		elsewhere := slices.ContainsFunc(found, func(f finding.Finding) bool { return plain(f.Why) == said }) ||
			i == 0 && slices.ContainsFunc(r.crd.Changes, func(c crddiff.Change) bool { return string(c.Rule) == r.in.Reason })
		blocks := slices.ContainsFunc(r.in.Blockers, func(b v1alpha1.Blocker) bool { return plain(b.Message) == said })
		switch {
		case elsewhere, !r.delivered, i == 0 && r.in.Verdict == preview.Safe:
		case r.in.Verdict == preview.Blocked && (blocks || i == 0):
			all = append(all, finding.Error)
		default:
			all = append(all, finding.Warning)
		}
	}
	return all
}

func toDo(r preview.Report, crd preview.ChangedCRD, in preview.InCluster) []string {
	var said []string
	if in.Reason == preview.ReasonClusterUnknown && !known(r, in.Cluster) {
		said = []string{lookAtIt} // all else comes after it
	}
	said = append(said, actions(slices.Concat(in.Blockers, in.Warnings))...)
	for _, f := range r.Findings {
		if f.Severity != finding.Info && f.CRD == crd.Name && (f.Cluster == in.Cluster || f.Cluster == "") {
			said = appendNew(said, plain(f.Remediation))
		}
	}
	switch {
	case len(said) > 0 || in.Verdict == preview.Safe || in.Verdict == preview.Warned:
	case in.Verdict == preview.Blocked && len(in.Blockers) > 0:
		said = []string{waitForIt}
	case in.Verdict == preview.Unknown && !known(r, in.Cluster):
		said = []string{lookAtIt}
	}
	return said
}

const (
	waitForIt = "wait: it clears by itself"
	lookAtIt  = "give the preview the cluster's context, or a file that `moult snapshot` wrote"
)

// actions are what blockers ask of people.
func actions(blockers []v1alpha1.Blocker) []string {
	var said []string
	for _, b := range blockers {
		said = appendNew(said, plain(b.Action))
	}
	return said
}

// known reports whether the cluster, or a snapshot of it, was looked at.
func known(r preview.Report, cluster string) bool {
	return slices.ContainsFunc(r.Clusters, func(c preview.Cluster) bool { return c.Name == cluster && c.Source != "" })
}

// columns are the names of all clusters: those that were given, and those that only a CRD names.
func columns(r preview.Report) []string {
	names := words.Of(r.Clusters, func(c preview.Cluster) string { return c.Name })
	for _, crd := range r.CRDs {
		names = append(names, words.Of(crd.Clusters, func(in preview.InCluster) string { return in.Cluster })...)
	}
	return words.Distinct(names)
}

// appendNew appends a sentence unless it is empty or there already.
func appendNew(said []string, sentence string) []string {
	if sentence == "" {
		return said
	}
	return appendOnce(said, sentence)
}

func appendOnce[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}
