package survivors

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/cmd/moult/repair"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// print reports what was found, the worst first, then what is not known, and then what was looked at.
func (s *command) print(report survivors.Report) error {
	if s.output != "" {
		return output.Print(s.Out, s.output, report)
	}
	for _, t := range report.Targets {
		fmt.Fprintln(s.Out, repair.Subject(t))
	}
	for _, note := range report.Notes {
		fmt.Fprintf(s.Out, "%s\n", output.Paragraph(note))
	}
	fmt.Fprintln(s.Out)
	for _, g := range report.Found {
		s.group(g.Effect.String(), words.Agree(g.Count, "names", "name"), g)
	}
	for _, g := range report.Unknown {
		s.group("not known", "may name", g)
	}
	for _, g := range report.Possible {
		s.group("possible", "may name", g)
	}
	s.notLooked(report.NotLooked)
	s.looked(report)
	return nil
}

// group prints the fields of a place, what they do, and what to do about them.
func (s *command) group(what, do string, g survivors.Group) {
	fmt.Fprintf(s.Out, "%s  %s\n", what, strings.TrimPrefix(g.Place+": "+g.Title, ": "))
	if g.CRD != "" {
		fmt.Fprintf(s.Out, "%s%s %s %s of %s\n", output.Indent, words.Count(g.Count, "field"), do, cmp.Or(g.Version, "versions"), g.CRD)
	}
	for _, f := range g.References {
		fmt.Fprintf(s.Out, "%s%s\n", output.Indent, strings.Join(parts(f), "  "))
	}
	if more := g.Count - int64(len(g.References)); more > 0 {
		fmt.Fprintf(s.Out, "%sand %d more; --limit 0 names all\n", output.Indent, more)
	}
	if g.Consequence != "" {
		fmt.Fprintln(s.Out, output.Paragraph("what happens: "+g.Consequence))
		fmt.Fprintln(s.Out, output.Paragraph(fmt.Sprintf("fix (%s): %s", g.Clears, g.Remediation)))
		fmt.Fprintln(s.Out, output.Paragraph("evidence: "+strings.Join(g.Evidence, " ")))
	}
	fmt.Fprintln(s.Out)
}

// parts are a reference in columns.
func parts(f survivors.Reference) []string {
	all := []string{f.Object.String(), f.Path}
	if f.Names != "" {
		all = append(all, f.Names)
	}
	if f.Why != "" && f.State != survivors.Possible {
		all = append(all, f.Why)
	}
	return all
}

// notLooked reports what could not be read, and what was not asked for.
func (s *command) notLooked(all []survivors.NotLooked) {
	for _, n := range all {
		word := "not looked at"
		if n.LeftOut {
			word = "left out"
		}
		fmt.Fprintf(s.Out, "%-16s %s\n", word, n.Why)
	}
}

// looked reports which places were looked at, in a line for each outcome, and the verdict.
func (s *command) looked(report survivors.Report) {
	by := map[survivors.Outcome][]string{}
	for _, p := range report.Places {
		by[p.Outcome] = append(by[p.Outcome], p.Place)
	}
	for _, outcome := range []struct {
		survivors.Outcome
		words string
	}{
		{survivors.LookedAt, "looked at"}, {survivors.InPart, "in part"}, {survivors.NotLookedAt, "not at"}, {survivors.NotThere, "not there"},
	} {
		if len(by[outcome.Outcome]) > 0 {
			fmt.Fprintln(s.Out, words.Wrap(fmt.Sprintf("%-16s ", outcome.words), strings.Repeat(" ", 17), strings.Join(by[outcome.Outcome], ", "), 100))
		}
	}
	fmt.Fprintf(s.Out, "\n%s\n", verdict(report))
}

// verdict is the answer in a sentence.
func verdict(report survivors.Report) string {
	switch report.Verdict {
	case survivors.StillNamed:
		n := int64(0)
		for _, g := range report.Found {
			if g.Effect != survivors.Cosmetic {
				n += g.Count
			}
		}
		return fmt.Sprintf("found: %s that %s; backups, Git and other clusters were not looked at", words.Count(n, "field"), words.Agree(n, "matters", "matter"))
	case survivors.NoneFound:
		return "none: nothing that matters names the versions, in what was looked at; backups, Git and other clusters were not"
	case survivors.NotKnown:
		return "not known: nothing that matters was found, and not all could be looked at"
	}
	return ""
}
