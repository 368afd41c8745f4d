package preview

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/words"
)

// Rules about a CRD that one part of a repository brings no longer, while a copy of it stays elsewhere in it.
const (
	// CRDLeavesChart: the templates of a chart make a CRD no longer, so Helm deletes it.
	CRDLeavesChart = "CRDLeavesChart"
	// CRDLeavesFolder: a folder, or crds/ of a chart, has a CRD no longer.
	CRDLeavesFolder = "CRDLeavesFolder"
)

// left finds what becomes of copies that went while others stay. If their versions are not among those of any other, some
// leave: then the copy is held against the last one.
//
// What a tool applies is compared as such, and no cluster gets the other files of the CRD.
func (s *spread) left(gone []*delivery.CRD, stay []delivery.CRD) (pairs []change) {
	for _, copied := range gone {
		folder, file := copied.Unit.Name, copied.Place().File
		inFolder := func(crd delivery.CRD) bool { return crd.Unit.Name == folder }
		if isApplied := func(crd delivery.CRD) bool { return crd.GetName() == copied.GetName() && crd.Unit.Tool != "" }; slices.ContainsFunc(stay, inFolder) ||
			!s.mayBeApplied(file) || s.inChart(copied) || slices.ContainsFunc(s.first.Base.CRDs(), isApplied) {
			continue
		}
		s.finds(finding.Finding{
			Rule: CRDLeavesFolder, Severity: finding.Warning, Object: copied.GetName(), CRD: copied.GetName(),
			Why: fmt.Sprintf("%s no longer has the CRD, and %s. In a cluster that gets it from there, nothing updates it any more, and a tool that prunes deletes it with all its objects",
				folder, staysAt(stay)),
			Remediation: "have these clusters get it from the other copy first",
		})
		all := func(crd delivery.CRD) bool { return !lacks(crd, *copied) }
		if last := stay[len(stay)-1]; !slices.ContainsFunc(stay, all) && !sameButForRelease(folder, last.Unit.Name) {
			pairs = append(pairs, change{base: copied, head: &last})
		}
	}
	return pairs
}

func (s *spread) finds(f finding.Finding) {
	s.first.Head.Findings = append(slices.Clip(s.first.Head.Findings), f)
}

// inChart reports whether a copy is what a chart brings, which leaveCharts looks at.
func (s *spread) inChart(copied *delivery.CRD) bool {
	return slices.ContainsFunc(s.all.Base.InCharts, func(c delivery.InChart) bool {
		return c.CRD.GetName() == copied.GetName() && (c.Dir == "." || strings.HasPrefix(copied.Unit.Name+"/", c.Dir+"/"))
	})
}

// lacks reports whether a CRD has not all versions of another.
func lacks(crd, other delivery.CRD) bool {
	versions := crd.Versions()
	return slices.ContainsFunc(other.Versions(), func(v string) bool { return !slices.Contains(versions, v) })
}

// release is a part of a path that says which release lies there.
var release = regexp.MustCompile(`^v?\d+(\.\d+)+([-+].*)?$`)

// sameButForRelease reports whether two folders are those of two releases, as bundles are kept.
func sameButForRelease(one, other string) bool {
	without := func(folder string) string {
		parts := strings.Split(folder, "/")
		for i, part := range parts {
			parts[i] = release.ReplaceAllString(part, "")
		}
		return path.Join(parts...) + fmt.Sprint(len(parts))
	}
	return one != other && without(one) == without(other)
}

// staysAt says where copies are.
func staysAt(stay []delivery.CRD) string {
	folders := words.Of(stay, func(crd delivery.CRD) string { return crd.Unit.Name })
	slices.Sort(folders)
	folders = slices.Compact(folders)
	return words.Agree(int64(len(folders)), "another copy stays at ", "other copies stay at ") + words.Few(folders, maxFolders)
}

// maxFolders is how many folders are named.
const maxFolders = 3

// leaveCharts finds the CRDs that charts in the files bring no longer, or to fewer of those who install them.
func (s *spread) leaveCharts() {
	for _, was := range strongest(s.all.Base.InCharts) {
		name := was.CRD.GetName()
		stay := slices.DeleteFunc(s.all.Head.CRDs(), func(crd delivery.CRD) bool { return crd.GetName() != name })
		now := s.bringsNow(was)
		if len(stay) == 0 || now >= was.How || !s.stillHas(was.Values, was.Name()) {
			continue
		}
		f := finding.Finding{
			Rule: CRDLeavesChart, Severity: finding.Warning, Object: name, CRD: name,
			Why:         fmt.Sprintf("the templates of the chart %s make the CRD no longer, so Helm deletes it with all its objects when a release is upgraded; %s", was.Name(), staysAt(stay)),
			Remediation: "first annotate the CRD with " + rollout.HelmPolicy + ": keep and have that installed everywhere, then take it out",
		}
		switch kept := was.CRD.Annotation(rollout.HelmPolicy) == "keep"; {
		case kept || was.How == delivery.AtInstall:
			f.Rule, f.Remediation = CRDLeavesFolder, "have the clusters that get it from the chart get it from the other copy first"
			f.Why = fmt.Sprintf("the chart %s no longer has the CRD, and %s. In a cluster that gets it from the chart it stays, and nothing updates it any more", was.Name(), staysAt(stay))
		case now == delivery.IfAsked:
			f.Why = fmt.Sprintf("the chart %s no longer makes the CRD of its own values. Helm deletes the CRD with all its objects when a release is upgraded whose values do not ask for it", was.Dir)
		}
		s.finds(f)
	}
}

// stillHas reports whether the head has a file of values with which the base installs a chart: without it, nothing is installed with it.
func (s *spread) stillHas(values, chart string) bool {
	return values == "" || slices.ContainsFunc(s.all.Head.Built, func(u *delivery.Unit) bool { return u.Name == delivery.ChartUnit(chart) })
}

// strongest are what charts bring, each CRD of a chart once, as most get it.
func strongest(brought []delivery.InChart) (found []delivery.InChart) {
	for _, one := range brought {
		i := slices.IndexFunc(found, func(other delivery.InChart) bool {
			return other.Name() == one.Name() && other.CRD.GetName() == one.CRD.GetName()
		})
		switch {
		case i < 0:
			found = append(found, one)
		case found[i].How < one.How:
			found[i] = one
		}
	}
	return found
}

// bringsNow is how the head's chart brings the CRD: that in the same folder, or else one of its name in a folder where
// there was none. It is 0 if it does not.
func (s *spread) bringsNow(was delivery.InChart) (now delivery.Brought) {
	among := func(brought []delivery.InChart, dir string) bool {
		return slices.ContainsFunc(brought, func(c delivery.InChart) bool { return c.Dir == dir })
	}
	for _, c := range s.all.Head.InCharts {
		moved := was.Chart != "" && c.Chart == was.Chart && !among(s.all.Base.InCharts, c.Dir) && !among(s.all.Head.InCharts, was.Dir)
		if c.CRD.GetName() == was.CRD.GetName() && c.Values == was.Values && (c.Dir == was.Dir || moved) {
			now = max(now, c.How)
		}
	}
	return now
}
