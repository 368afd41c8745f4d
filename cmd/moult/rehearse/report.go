package rehearse

import (
	"fmt"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/words"
)

// findings are what is printed of a report.
func findings(report conversion.Report) output.Findings {
	all := output.Findings{Heading: "Rehearsal of the new CRDs", Sentence: sentence(report), Rest: "accepted losses", Unused: report.Unused}
	for _, of := range report.CRDs {
		all.Sections = append(all.Sections, output.Section{
			CRD: of.CRD, Title: title(of) + ": " + subtitle(of), Markdown: fmt.Sprintf("**%s**: %s", preview.CodeSpan(title(of), 100), subtitle(of)),
			Suite: title(of), All: subtitle(of), Entries: entries(of),
		})
	}
	return all
}

const notKnown = "not known"

// entries are all that is said of the objects of a CRD, the worst first.
func entries(of conversion.CRDReport) (all []output.Entry) {
	add := func(groups []conversion.Group, say string, fails func(conversion.Group) bool) {
		for _, g := range groups {
			e := output.Entry{Say: say, OurWords: g.Accepted == "", Path: g.What, What: g.What, Fails: fails(g), Unknown: say == notKnown, Objects: g.Objects, Examples: g.Examples}
			if g.Says != "" {
				e.What += ": " + g.Says
			}
			e.What = words.Line(e.What)
			switch {
			case g.Accepted != "":
				e.Say += ", and accepted: " + g.Accepted
			case g.Status:
				e.Say += " in status, which its controller writes anew"
			}
			all = append(all, e)
		}
	}
	always, never := func(conversion.Group) bool { return true }, func(conversion.Group) bool { return false }
	add(of.Lost, "lost", conversion.Group.Matters)
	add(of.Changed, "changed", conversion.Group.Matters)
	add(of.Failed, "not converted", always)
	add(of.Refused, "refused", always)
	add(of.Ratcheted, "let pass until it changes", never)
	add(of.Respelled, "the same value, written otherwise", never)
	add(of.Added, "new to clients of the old version", never)
	add(of.Undefaulted, "without its default for clients of the old version", never)
	add(of.Unknown, notKnown, never)
	return all
}

func title(of conversion.CRDReport) string {
	if of.Cluster == "" {
		return of.CRD
	}
	return of.CRD + " in " + of.Cluster
}

func subtitle(of conversion.CRDReport) string {
	said := words.Count(of.Objects, "object") + ", to be stored at " + of.Storage
	if of.ReadAt != "" {
		said += ", read at " + of.ReadAt
	}
	if of.Objects > 0 {
		said += fmt.Sprintf("; %d come back the same", of.Same)
	}
	return said
}

func sentence(report conversion.Report) string {
	switch report.Verdict {
	case conversion.NotKept:
		return "something would be lost, changed or refused: move it before the storage version changes, fix the conversion, or accept it with --accept"
	case conversion.NotKnown:
		return "not all is known; nothing would be lost or refused of what could be looked at"
	case conversion.Kept:
	}
	return "nothing would be lost, and nothing refused"
}
