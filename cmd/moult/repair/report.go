package repair

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// verdict is the answer in a word. The set is closed.
type verdict string

const (
	done     verdict = "done"
	left     verdict = "left"
	notKnown verdict = "unknown"
)

// document is what -o json and -o yaml print.
type document struct {
	Verdict verdict         `json:"verdict"`
	DryRun  bool            `json:"dryRun"`
	Targets []owners.Target `json:"targets"`
	owners.Report
	// Notes are what else a person should know.
	Notes []string `json:"notes,omitempty"`

	from []survivors.From // of each target
}

// verdict is left if something is, and done only if all could be looked at.
func (d *document) verdict() verdict {
	switch {
	case len(d.Left) > 0, d.Unfinished:
		return left
	case len(d.NotLooked) > 0:
		return notKnown
	default:
		return done
	}
}

func (d *document) ending() error {
	switch d.Verdict {
	case left:
		return cli.Ended{Code: cli.ExitNotDone}
	case notKnown:
		return cli.Ended{Code: cli.ExitUnknown}
	case done:
	}
	return nil
}

const indent = "         "

func (r *command) print(d document) error {
	if r.output != "" {
		return output.Print(r.Out, r.output, d)
	}
	for i := range d.Targets {
		fmt.Fprintln(r.Out, subject(&d.Targets[i], d.from[i]))
	}
	for _, note := range d.Notes {
		fmt.Fprintln(r.Out, output.Paragraph(note))
	}
	fmt.Fprintln(r.Out)
	r.moved(d)
	for _, g := range d.Left {
		r.left(g)
	}
	for _, n := range d.NotLooked {
		fmt.Fprintf(r.Out, "not looked at    %s\n", n.Why)
	}
	fmt.Fprintln(r.Out, d.sentence())
	return nil
}

// subject is a CRD, and where its references are moved from and to.
func subject(t *owners.Target, from survivors.From) string {
	leaving := strings.Join(t.Leaving, ", ")
	unlisted := "versions that it does not have"
	if leaving == "" {
		return fmt.Sprintf("%s: from %s to %s", t.CRD, unlisted, t.Storage)
	}
	switch from {
	case survivors.Asked:
		return fmt.Sprintf("%s: from %s (--version) to %s", t.CRD, leaving, t.Storage)
	case survivors.Removals:
		return fmt.Sprintf("%s: from %s (VersionRemovals name them) and %s to %s", t.CRD, leaving, unlisted, t.Storage)
	case survivors.NotStored:
		return fmt.Sprintf("%s: from %s (no VersionRemoval names a version, so all but the storage version) and %s to %s", t.CRD, leaving, unlisted, t.Storage)
	}
	return t.CRD
}

func (r *command) moved(d document) {
	if d.Moved == 0 {
		return
	}
	word := "moved"
	if d.DryRun {
		word = "would be moved"
	}
	fmt.Fprintf(r.Out, "%s  %s\n", word, words.Count(d.Moved, "reference"))
	r.references(d.References, d.Moved)
	if d.terminating() {
		fmt.Fprintln(r.Out, output.Paragraph("an owner that is being deleted: the garbage collector deletes the object, unless another owner keeps it"))
	}
	if len(d.Writers) > 0 {
		fmt.Fprintln(r.Out, output.Paragraph("written by: "+d.writers()+". Unless they write the storage version by now, they write the old one again with the next object"))
	}
	if d.Taken > 0 {
		fmt.Fprintln(r.Out, output.Paragraph(fmt.Sprintf("managedFields: %s now %s to moult, and not to the manager that wrote it: %s", words.Count(d.Taken, "reference"), words.Agree(d.Taken, "belongs", "belong"), d.TakenWhy)))
	}
	fmt.Fprintln(r.Out)
}

func (d *document) terminating() bool {
	for i := range d.References {
		if d.References[i].OwnerTerminating {
			return true
		}
	}
	return false
}

func (d *document) writers() string {
	return words.Few(words.Of(d.Writers, func(w owners.Writer) string { return fmt.Sprintf("%s (%d)", w.Manager, w.References) }), 10)
}

// left tells why references stay, and what to do about that.
func (r *command) left(g owners.Group) {
	fmt.Fprintf(r.Out, "left  %s: %s\n", words.Count(g.Count, "reference"), why(g.Reason))
	r.references(g.References, g.Count)
	if len(g.Needs) > 0 {
		fmt.Fprintln(r.Out, output.Paragraph("it needs "+words.Few(g.Needs, 20)))
	}
	fmt.Fprintln(r.Out)
}

// why is a reason, and what to do.
func why(reason owners.Reason) string {
	switch reason {
	case owners.ComesBack:
		return "the version comes back; the writer has to move to the storage version first"
	case owners.Forbidden:
		return "they may not be written"
	case owners.Refused:
		return "the write was refused; fix what refuses it, then run the same command again"
	case owners.OwnerGone:
		return "their owner does not exist; once they are moved, the garbage collector deletes the objects; --orphans moves them"
	case owners.OwnerUnknown:
		return "whether their owner exists is not known, and without one the garbage collector would delete the objects"
	}
	return string(reason)
}

func (r *command) references(all []owners.Reference, count int64) {
	for i := range all {
		f := &all[i]
		parts := []string{f.Object.String(), f.Path, f.Owner, f.From + " -> " + f.To}
		if f.OwnerTerminating {
			parts = append(parts, "the owner is being deleted")
		}
		if f.Why != "" {
			parts = append(parts, f.Why)
		}
		fmt.Fprintf(r.Out, "%s%s\n", indent, strings.Join(parts, "  "))
	}
	if more := count - int64(len(all)); more > 0 {
		fmt.Fprintf(r.Out, "%sand %d more; --limit 0 names all\n", indent, more)
	}
}

// sentence is the answer.
func (d *document) sentence() string {
	did := "moved"
	if d.DryRun {
		did = "would be moved, and nothing was written"
	}
	n := int64(0)
	for _, g := range d.Left {
		n += g.Count
	}
	moved := words.Count(d.Moved, "reference") + " " + did
	switch d.Verdict {
	case left:
		if n == 0 {
			return fmt.Sprintf("left: %s; new ones at the version still come, so the writers have to move first", moved)
		}
		return fmt.Sprintf("left: %s, %d left", moved, n)
	case notKnown:
		return fmt.Sprintf("not known: %s, and not all objects could be looked at", moved)
	case done:
	}
	if d.DryRun {
		return "done: " + moved
	}
	return fmt.Sprintf("done: %s, and a list of all objects has none left", moved)
}
