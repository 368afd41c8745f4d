package survivors

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// outcome is the answer of a migration in a word. The set is closed.
type outcome string

const (
	done     outcome = "done"
	left     outcome = "left"
	notKnown outcome = "unknown"
)

// migrated is what -o json and -o yaml print.
type migrated struct {
	Verdict outcome `json:"verdict"`
	DryRun  bool    `json:"dryRun"`
	// Saved is the file that has what was removed.
	Saved   string             `json:"saved,omitempty"`
	Targets []survivors.Target `json:"targets"`
	embeddedcopies.Report
	// Notes are what else a person should know.
	Notes []string `json:"notes,omitempty"`
}

// verdict is left if something is, and done only if all could be looked at.
func (d *migrated) verdict() outcome {
	switch {
	case len(d.Left) > 0, d.Unfinished:
		return left
	case len(d.NotLooked) > 0:
		return notKnown
	default:
		return done
	}
}

func (d *migrated) ending() error {
	switch d.Verdict {
	case left:
		return cli.Ended{Code: cli.ExitNotDone}
	case notKnown:
		return cli.Ended{Code: cli.ExitUnknown}
	case done:
	}
	return nil
}

func copies(n int64) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}

func (m *migrate) print(d migrated) error {
	if m.output != "" {
		return output.Print(m.Out, m.output, d)
	}
	for _, t := range d.Targets {
		fmt.Fprintln(m.Out, subject(t))
	}
	for _, note := range d.Notes {
		fmt.Fprintln(m.Out, output.Paragraph(note))
	}
	fmt.Fprintln(m.Out)
	if d.Moved > 0 {
		word := "moved"
		if d.DryRun {
			word = "would be moved"
		}
		fmt.Fprintf(m.Out, "%s  %s\n", word, copies(d.Moved))
		m.stashes(d.Stashes, d.Moved)
		fmt.Fprintln(m.Out)
	}
	for _, g := range d.Left {
		fmt.Fprintf(m.Out, "left  %s: %s\n", copies(g.Count), why(g.Reason))
		m.stashes(g.Stashes, g.Count)
		if len(g.Needs) > 0 {
			fmt.Fprintln(m.Out, output.Paragraph("it needs "+words.Few(g.Needs, 20)))
		}
		fmt.Fprintln(m.Out)
	}
	for _, n := range d.NotLooked {
		fmt.Fprintf(m.Out, "not looked at    %s\n", n.Why)
	}
	fmt.Fprintln(m.Out, d.sentence())
	return nil
}

// why is a reason, and what to do.
func why(reason embeddedcopies.Reason) string {
	switch reason {
	case embeddedcopies.Undecodable:
		return "they cannot be decoded; the project cannot read them either; take them away by hand if nothing needs them"
	case embeddedcopies.NoRule:
		return "nothing is known that converts them to a version that stays"
	case embeddedcopies.Conflict:
		return "the names for their successors are taken by other objects; look at these"
	case embeddedcopies.StillNamed:
		return "something names them that cannot be changed; run the same command again when that has gone"
	case embeddedcopies.Declared:
		return "somebody applies an object that names them, and would write the name again; take it out of what is applied"
	case embeddedcopies.ComesBack:
		return "something names them again each time; the writer has to stop first"
	case embeddedcopies.Forbidden:
		return "a permission is missing"
	case embeddedcopies.Refused:
		return "a write was refused; fix what refuses it, then run the same command again"
	case embeddedcopies.OwnerUnknown:
		return "whether their owner exists is not known, and without one the garbage collector would delete the successor"
	case embeddedcopies.NotKnown:
		return "whether anything names them is not known, so they are not deleted"
	case embeddedcopies.Busy:
		return "the project works in the namespace; run the same command again when that is done"
	case embeddedcopies.ByController:
		return "the project's own controller moves them; run the same command again later; --take-over moves them now"
	case embeddedcopies.Terminating:
		return "they go with their owner"
	}
	return string(reason)
}

func (m *migrate) stashes(all []embeddedcopies.Stash, count int64) {
	for i := range all {
		s := &all[i]
		parts := []string{s.Object.String()}
		for _, part := range []string{s.Copy, strings.TrimSuffix(s.From+" -> "+s.To, " -> "), s.Successor, s.Why} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		fmt.Fprintf(m.Out, "%s%s\n", indent, strings.Join(parts, "  "))
	}
	if more := count - int64(len(all)); more > 0 {
		fmt.Fprintf(m.Out, "%sand %d more; --limit 0 names all\n", indent, more)
	}
}

// sentence is the answer.
func (d *migrated) sentence() string {
	n := int64(0)
	for _, g := range d.Left {
		n += g.Count
	}
	moved := copies(d.Moved) + " moved"
	if d.DryRun {
		moved = copies(d.Moved) + " would be moved, and nothing was written"
	} else if d.Moved > 0 {
		moved += ", and what was removed is in " + d.Saved
	}
	switch d.Verdict {
	case left:
		if n == 0 {
			return fmt.Sprintf("left: %s; new ones at the version still come, so the writers have to move first", moved)
		}
		return fmt.Sprintf("left: %s; %d left", moved, n)
	case notKnown:
		return fmt.Sprintf("not known: %s; not all could be looked at", moved)
	case done:
	}
	return "done: " + moved
}
