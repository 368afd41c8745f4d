package rehearse

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// entry is what is said of some objects.
type entry struct {
	conversion.Group

	// Say is what becomes of them, and Fails reports whether that holds something up.
	Say   string
	Fails bool
}

const notKnown = "not known"

// entries are all that is said of the objects of a CRD, the worst first.
func entries(of conversion.CRDReport) (all []entry) {
	add := func(groups []conversion.Group, say string, fails func(conversion.Group) bool) {
		for _, g := range groups {
			e := entry{Group: g, Say: say, Fails: fails(g)}
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

// what is the path or the sentence, and what the webhook says, in one line.
func (e entry) what() string {
	what := e.What
	if e.Says != "" {
		what += ": " + e.Says
	}
	return words.Line(what)
}

// objects are how many there are, and some of them.
func (e entry) objects() string {
	if len(e.Examples) == 0 {
		return ""
	}
	more := ""
	if rest := e.Objects - int64(len(e.Examples)); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return words.Count(e.Objects, "object") + ": " + strings.Join(e.Examples, ", ") + more
}

func asText(report conversion.Report) string {
	var content strings.Builder
	for _, of := range report.CRDs {
		fmt.Fprintf(&content, "%s: %s\n", title(of), subtitle(of))
		for _, e := range entries(of) {
			fmt.Fprintf(&content, "  %s: %s\n", e.Say, e.what())
			if objects := e.objects(); objects != "" {
				fmt.Fprintf(&content, "    %s\n", objects)
			}
		}
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&content, "accepted and not found: %s of %s (%s)\n", a.Path, a.CRD, a.Reason)
	}
	fmt.Fprintf(&content, "%s\n", sentence(report))
	return content.String()
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
