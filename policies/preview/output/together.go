package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// group is something that is said once of several CRDs, with the places of each.
type group[T any] struct {
	// one is the first.
	one    T
	crds   []string
	places []finding.Place
}

// gather puts together what reads the same but for the CRD.
func gather[T any](all []T, same func(a, b T) bool, about func(T) (crd string, at finding.Place)) []group[T] {
	var groups []group[T]
	for _, one := range all {
		i := slices.IndexFunc(groups, func(g group[T]) bool { return same(g.one, one) })
		if i < 0 {
			groups, i = append(groups, group[T]{one: one}), len(groups)
		}
		crd, at := about(one)
		groups[i].crds = appendNew(groups[i].crds, plain(crd))
		if at.File != "" {
			groups[i].places = appendOnce(groups[i].places, at)
		}
	}
	return groups
}

// mostNamed is how many CRDs and places of a group are named; the others are counted.
const mostNamed = 3

// names are those of the CRDs, with their number if there are more than are named.
func (g group[T]) names(written func(string) string) string {
	named := words.Few(words.Of(g.crds, written), mostNamed)
	if len(g.crds) > mostNamed {
		return fmt.Sprintf("%d CRDs: %s", len(g.crds), named)
	}
	return named
}

// rowsTogether are the rows of a table. Those that differ in nothing but the CRD are one, and so are those of the same
// CRDs that differ in nothing but the cluster.
func rowsTogether(r preview.Report) []rowGroup {
	inOneCluster := gather(rows(r), func(a, b row) bool { return a.in.Cluster == b.in.Cluster && a.readsLike(b) },
		func(one row) (string, finding.Place) { return one.crd.Name, finding.Place{} })
	var all []rowGroup
	for _, g := range inOneCluster {
		i := slices.IndexFunc(all, func(other rowGroup) bool { return slices.Equal(g.crds, other.crds) && g.one.readsLike(other.one) })
		if i < 0 {
			all, i = append(all, rowGroup{group: g}), len(all)
		}
		all[i].clusters = append(all[i].clusters, g.one.cluster())
	}
	return all
}

// rowGroup is a group of rows, and the clusters that it is about.
type rowGroup struct {
	group[row]
	clusters []string
}

// where names the clusters.
func (g rowGroup) where() string { return words.Few(g.clusters, mostNamed) }

// readsLike reports whether the same is to be said in two rows, whatever CRD and cluster they are about.
func (r row) readsLike(other row) bool {
	return r.badge() == other.badge() && slices.Equal(r.crd.Removed, other.crd.Removed) && slices.Equal(r.reasons(), other.reasons())
}

// findingsTogether are the findings; those that differ in nothing but the CRD and the place are one.
func findingsTogether(all []finding.Finding) []group[finding.Finding] {
	same := func(a, b finding.Finding) bool {
		return a.Rule == b.Rule && a.Severity == b.Severity && a.Cluster == b.Cluster && a.Why == b.Why && a.Remediation == b.Remediation && (a.CRD == "") == (b.CRD == "")
	}
	return gather(all, same, func(f finding.Finding) (string, finding.Place) { return f.CRD, f.Place })
}

// whose says which CRDs and which cluster a finding is about.
func whose(g group[finding.Finding]) string {
	var parts []string
	if len(g.crds) > 0 {
		parts = append(parts, g.names(func(name string) string { return name }))
	}
	if cluster := plain(g.one.Cluster); cluster != "" {
		parts = append(parts, "in "+cluster)
	}
	return strings.Join(parts, " ")
}

// at are the places of a group, written so.
func (g group[T]) at(written func(finding.Place) string) string {
	return words.Few(words.Of(g.places, written), mostNamed)
}
