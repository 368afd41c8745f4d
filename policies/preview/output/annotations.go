package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// remark is something to say at a place in the repository.
type remark struct {
	severity finding.Severity
	place    finding.Place
	title    string
	said     string
	// crd and cluster are what it is about, empty if there is no single one.
	crd, cluster string
	// same distinguishes it from others about the same, in words that stay as they are while time passes. What a
	// cluster stores and how old a snapshot is are in said alone.
	same string
}

// remarks are the findings, then the verdicts that keep a version from going, then the manifests that no finding is
// about, each kind with the gravest first.
func remarks(r preview.Report) []remark {
	var all []remark
	for _, f := range r.Findings {
		said := clean(f.Why)
		if f.Remediation != "" {
			said += ". To fix it: " + clean(f.Remediation)
		}
		all = append(all, remark{severity: f.Severity, place: f.Place, title: f.Rule, said: said, crd: f.CRD, cluster: f.Cluster, same: f.Why})
	}
	all = append(all, verdictRemarks(r)...)
	for _, m := range r.Manifests {
		if !foundAt(r, m.Place) {
			all = append(all, manifestRemark(m))
		}
	}
	slices.SortStableFunc(all, func(a, b remark) int {
		return b.severity.Weight() - a.severity.Weight()
	})
	return all
}

func verdictRemarks(r preview.Report) []remark {
	var all []remark
	for _, row := range rows(r) {
		severity := finding.Warning
		switch {
		case !row.delivered, row.in.Verdict == preview.Safe:
			continue
		case row.in.Verdict == preview.Blocked:
			severity = finding.Error
		}
		said := strings.Join(row.inTheWay, "; ")
		if asked := actions(slices.Concat(row.in.Blockers, row.in.Warnings)); len(asked) > 0 {
			said += ". What to do: " + strings.Join(asked, "; ")
		}
		all = append(all, remark{
			severity: severity, place: row.crd.Place, said: said, crd: row.crd.Name, cluster: row.in.Cluster, same: string(row.in.Verdict),
			title: fmt.Sprintf("%s %s in %s", row.crd.Name, row.badge().Predicate, row.cluster()),
		})
	}
	return all
}

func manifestRemark(m preview.Manifest) remark {
	said := fmt.Sprintf("%s is written at %s, which leaves %s", m.Object, m.Version, m.CRD)
	if m.Rewritable {
		said += ". To fix it: `moult rewrite`"
	}
	return remark{severity: finding.Warning, place: m.Place, title: "Written at a version that leaves", said: clean(said), crd: m.CRD, same: m.Object + " " + m.Version}
}

// Annotations are GitHub workflow commands, a line each: printed by a step of a workflow, they stand beside the lines of
// the diff. GitHub shows ten errors and ten warnings of a step, so the gravest come first.
func Annotations(r preview.Report) string {
	var out strings.Builder
	for _, m := range remarks(r) {
		properties := []string{}
		if m.place.File != "" {
			properties = append(properties, "file="+escapeProperty(clean(m.place.File)))
			if m.place.Line > 0 {
				properties = append(properties, "line="+strconv.Itoa(m.place.Line))
			}
		}
		properties = append(properties, "title="+escapeProperty(plain(m.title)))
		fmt.Fprintf(&out, "::%s %s::%s\n", badgeOfSeverity(m.severity).GitHub, strings.Join(properties, ","), escapeMessage(m.said))
	}
	return out.String()
}

// escapeMessage and escapeProperty are what GitHub's runner takes back.
func escapeMessage(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeMessage(s))
}
