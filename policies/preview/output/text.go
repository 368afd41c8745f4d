package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// Text writes the report for a terminal of that width; 0 is for 100 columns. Without colour it is plain text.
func Text(w io.Writer, r preview.Report, color bool, width int) error {
	if width <= 0 {
		width = 100
	}
	t := terminal{color: color, width: max(40, width)}
	t.verdict(r)
	t.table(r)
	t.reasons(r)
	t.changes(r)
	for _, c := range r.Clusters {
		t.rollout(r, c)
	}
	t.findings(r)
	t.manifests(r)
	t.next(r)
	_, err := io.WriteString(w, t.out.String())
	return err
}

func (t *terminal) verdict(r preview.Report) {
	b := badgeOfVerdict(r.Verdict)
	t.paragraph("", t.paint(b.Color+";1", strings.ToUpper(b.Word)), r.Sentence)
	base, head := plain(r.Base), plain(r.Head)
	if base != "" || head != "" {
		t.line(t.paint("2", fmt.Sprintf("%s → %s: %s", base, head, scope(r))))
	}
}

func (t *terminal) table(r preview.Report) {
	all := rows(r)
	if len(all) == 0 {
		return
	}
	cells := [][]cell{{{"CRD", "1"}, {"CLUSTER", "1"}, {"REMOVED", "1"}, {"STORED", "1"}, {"OBJECTS", "1"}, {"VERDICT", "1"}}}
	for _, row := range all {
		b := row.badge()
		counted := "-"
		if row.in.Objects != nil {
			counted = grouped(*row.in.Objects)
		}
		cells = append(cells, []cell{
			{row.crd.Name, ""}, {row.cluster(), ""}, {cmp.Or(few(row.crd.Removed), "-"), ""}, {cmp.Or(few(row.in.StoredVersions), "-"), ""}, {counted, ""}, {b.Word, b.Color},
		})
	}
	t.line("")
	t.grid(cells)
}

// reasons are below the table, since a table has no room for sentences.
func (t *terminal) reasons(r preview.Report) {
	t.heading(strings.ToUpper(reasonsHeading(r, "What to read before merging")))
	for _, g := range rowsTogether(r) {
		row := g.one
		if row.in.Verdict == preview.Safe {
			continue
		}
		b := row.badge()
		t.line(t.lead(b) + " " + g.names(func(name string) string { return name }) + "  " + g.where())
		for _, said := range row.inTheWay {
			t.paragraph(indent, "", said)
		}
	}
}

func (t *terminal) changes(r preview.Report) {
	for _, crd := range r.CRDs {
		if len(crd.Changes) == 0 {
			continue
		}
		t.heading("WHAT CHANGES IN " + plain(crd.Name))
		for _, g := range byVersion(crd.Changes) {
			t.line(t.paint("1", g.Title()))
			for _, c := range g.Shown() {
				b := badgeOfSeverity(c.Severity)
				t.paragraph("", t.lead(b), strings.Join(appendNew(appendNew(nil, plain(string(c.Rule))), plain(c.Field)), "  "))
				if c.From != "" || c.To != "" {
					t.paragraph(indent, "", orDash(c.From)+" → "+orDash(c.To))
				}
				t.paragraph(indent, "", c.Why)
			}
			if more := g.More(); more != "" {
				t.paragraph(indent, "", more+"; -o json has them all")
			}
		}
	}
}

func orDash(s string) string {
	return clip(cmp.Or(plain(s), "-"), valueWidth)
}

func (t *terminal) rollout(r preview.Report, c preview.Cluster) {
	waves := timeline(r, c)
	if len(waves) == 0 {
		return
	}
	t.heading("ROLL-OUT IN " + clusterName(c.Name))
	for _, w := range waves {
		for _, s := range w.Steps {
			t.line(fmt.Sprintf("%-8d %s", w.Order, s.Title()))
			if after := s.Waits(); after != "" {
				t.paragraph(indent, "", "after "+after)
			}
			for _, i := range s.Items {
				t.paragraph(indent, "", i.Label()+" "+i.Name+" "+i.About())
				if waits := i.Waits(); waits != "" {
					t.paragraph(indent, t.paint(holdColors[i.Hold], "→"), waits)
				}
			}
			if s.Others > 0 {
				t.paragraph(indent, "", count(s.Others, "other object"))
			}
		}
	}
}

var holdColors = map[hold]string{free: "33", unsure: "33", shut: "31", failing: "31", opening: "32"}

func (t *terminal) findings(r preview.Report) {
	t.heading("FINDINGS")
	informing := 0
	for _, g := range findingsTogether(r.Findings) {
		f, b := g.one, badgeOfSeverity(g.one.Severity)
		if f.Severity == finding.Info {
			if informing++; informing > mostForInformation {
				continue
			}
		}
		about := f.Rule
		if whose := whose(g); whose != "" {
			about += ": " + whose
		}
		if len(g.places) > 0 {
			about += " at " + g.at(finding.Place.String)
		}
		t.paragraph("", t.lead(b), about)
		t.paragraph(indent, "", f.Why)
		if f.Remediation != "" {
			t.paragraph(indent, "fix:", f.Remediation)
		}
	}
	if more := informing - mostForInformation; more > 0 {
		t.line(fmt.Sprintf("and %d more for information; -o json has them all", more))
	}
}

// mostForInformation is how many findings are shown that nothing has to be done about. A repository of a hundred entry points has as many.
const mostForInformation = 8

func (t *terminal) manifests(r preview.Report) {
	t.heading("MANIFESTS STILL AT A VERSION THAT LEAVES")
	t.grid(words.Of(r.Manifests, func(m preview.Manifest) []cell {
		return []cell{{m.Place.String(), ""}, {m.Object, ""}, {m.Version, ""}, {"by " + rewriter(m), ""}}
	}))
}

func (t *terminal) next(r preview.Report) {
	t.heading("WHAT TO DO NEXT")
	all := tasks(r)
	if len(all) == 0 {
		t.line(nothingToDo(r))
	}
	for i, task := range all {
		said := capital(task.What)
		if whose := task.Whose(); whose != "" {
			said += " (" + whose + ")"
		}
		t.paragraph("", fmt.Sprintf("%d.", i+1), said)
		for _, p := range task.Shown() {
			t.line("   " + plain(p.String()))
		}
		if task.Beyond() > 0 {
			t.line(fmt.Sprintf("   and %d more", task.Beyond()))
		}
	}
}
