package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/moult-dev/moult/policies/preview"
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
	l := lookOfVerdict(r.Verdict)
	t.paragraph("", t.paint(l.color+";1", strings.ToUpper(l.word)), r.Sentence)
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
		l := row.look()
		stored, counted := "-", "-"
		if len(row.in.StoredVersions) > 0 {
			stored = versions(row.in.StoredVersions)
		}
		if row.in.Objects != nil {
			counted = grouped(*row.in.Objects)
		}
		removed := "-"
		if len(row.crd.Removed) > 0 {
			removed = versions(row.crd.Removed)
		}
		cells = append(cells, []cell{{row.crd.Name, ""}, {row.cluster(), ""}, {removed, ""}, {stored, ""}, {counted, ""}, {l.word, l.color}})
	}
	t.line("")
	t.grid(cells)
}

// reasons are below the table, since a table has no room for sentences.
func (t *terminal) reasons(r preview.Report) {
	t.heading(strings.ToUpper(reasonsHeading(r, "What to read before merging")))
	for _, row := range rows(r) {
		if row.in.Verdict == preview.Safe {
			continue
		}
		l := row.look()
		t.line(t.lead(l) + " " + plain(row.crd.Name) + "  " + row.cluster())
		for _, said := range row.inTheWay {
			t.paragraph(indent, "", said)
		}
		for _, what := range row.toDo {
			t.paragraph(indent, "do:", what)
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
			t.line(t.paint("1", g.title()))
			shown, beyond := g.shown()
			for _, c := range shown {
				l := lookOfSeverity(c.Severity)
				t.paragraph("", t.lead(l), strings.Join(appendNew(appendNew(nil, plain(string(c.Rule))), plain(c.Field)), "  "))
				if c.From != "" || c.To != "" {
					t.paragraph(indent, "", orDash(c.From)+" → "+orDash(c.To))
				}
				t.paragraph(indent, "", c.Why)
			}
			if len(beyond) > 0 {
				t.paragraph(indent, "", more(beyond)+"; -o json has them all")
			}
		}
	}
}

func orDash(s string) string {
	if s = plain(s); s == "" {
		return "-"
	}
	return clip(s, valueWidth)
}

func (t *terminal) rollout(r preview.Report, c preview.Cluster) {
	waves := timeline(r, c)
	if len(waves) == 0 {
		return
	}
	t.heading("ROLL-OUT IN " + clusterName(c.Name))
	for _, w := range waves {
		for _, s := range w.steps {
			t.line(fmt.Sprintf("%-8d %s", w.order, s.title()))
			if after := s.after(); after != "" {
				t.paragraph(indent, "", "after "+after)
			}
			for _, i := range s.items {
				t.paragraph(indent, "", i.label()+" "+i.Name+" "+i.about())
				if waits := i.waits(); waits != "" {
					t.paragraph(indent, t.paint(i.hold.color(), "→"), waits)
				}
			}
			if s.Others > 0 {
				t.paragraph(indent, "", count(s.Others, "other object"))
			}
		}
	}
}

func (h hold) color() string {
	switch h {
	case free, unsure:
		return "33"
	case shut, failing:
		return "31"
	case opening:
		return "32"
	case notHeld:
	}
	return ""
}

func (t *terminal) findings(r preview.Report) {
	t.heading("FINDINGS")
	for _, f := range r.Findings {
		l := lookOfSeverity(f.Severity)
		about := f.Rule
		if whose := (task{crds: appendNew(nil, plain(f.CRD)), clusters: appendNew(nil, plain(f.Cluster))}).whose(); whose != "" {
			about += ": " + whose
		}
		if f.Place.File != "" {
			about += " at " + f.Place.String()
		}
		t.paragraph("", t.lead(l), about)
		t.paragraph(indent, "", f.Why)
		if f.Mend != "" {
			t.paragraph(indent, "mend:", f.Mend)
		}
	}
}

func (t *terminal) manifests(r preview.Report) {
	t.heading("MANIFESTS STILL AT A VERSION THAT LEAVES")
	var cells [][]cell
	for _, m := range r.Manifests {
		cells = append(cells, []cell{{m.Place.String(), ""}, {m.Object, ""}, {m.Version, ""}, {"by " + rewriter(m), ""}})
	}
	t.grid(cells)
}

func (t *terminal) next(r preview.Report) {
	t.heading("WHAT TO DO NEXT")
	all := tasks(r)
	if len(all) == 0 {
		t.line(nothingToDo(r))
	}
	for i, task := range all {
		said := capital(task.what)
		if whose := task.whose(); whose != "" {
			said += " (" + whose + ")"
		}
		t.paragraph("", fmt.Sprintf("%d.", i+1), said)
		const most = 5
		for _, p := range task.places[:min(most, len(task.places))] {
			t.line("   " + plain(p.String()))
		}
		if beyond := len(task.places) - most; beyond > 0 {
			t.line(fmt.Sprintf("   and %d more", beyond))
		}
	}
}
