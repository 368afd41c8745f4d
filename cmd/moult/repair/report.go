package repair

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// document is what -o json and -o yaml print.
type document struct {
	Verdict repairs.Verdict `json:"verdict"`
	DryRun  bool            `json:"dryRun"`
	// Saved is the file that has what was removed.
	Saved   string `json:"saved,omitempty"`
	Targets any    `json:"targets"`
	repairs.Report
	// Notes are what else a person should know.
	Notes []string `json:"notes,omitempty"`

	kind  *repairs.Kind
	lines []string // of the targets
}

// print is the document for people.
func (d *document) print(out io.Writer) {
	fmt.Fprintln(out, strings.Join(append(d.lines, words.Of(d.Notes, output.Paragraph)...), "\n")+"\n")
	if d.Moved > 0 {
		word := "moved"
		if d.DryRun {
			word = "would be moved"
		}
		fmt.Fprintf(out, "%s  %s\n", word, d.kind.Count(d.Moved))
		items(out, d.Items, d.Moved)
		d.references(out)
		fmt.Fprintln(out)
	}
	for i := range d.Left {
		d.left(out, &d.Left[i])
	}
	for _, n := range d.NotLooked {
		fmt.Fprintf(out, "not looked at    %s\n", n.Why)
	}
	fmt.Fprintln(out, d.sentence())
}

// references is what only owner references have.
func (d *document) references(out io.Writer) {
	if slices.ContainsFunc(d.Items, func(i repairs.Item) bool { return i.OwnerTerminating }) {
		fmt.Fprintln(out, output.Paragraph("an owner that is being deleted: the garbage collector deletes the object, unless another owner keeps it"))
	}
	if len(d.Writers) > 0 {
		names := words.Of(d.Writers, func(w repairs.Writer) string { return fmt.Sprintf("%s (%d)", w.Manager, w.References) })
		fmt.Fprintln(out, output.Paragraph("written by: "+words.Few(names, 10)+". Unless they write the storage version by now, they write the old one again with the next object"))
	}
	if d.Taken > 0 {
		fmt.Fprintln(out, output.Paragraph(fmt.Sprintf("managedFields: %s now %s to moult, and not to the manager that wrote it: %s", d.kind.Count(d.Taken), words.Agree(d.Taken, "belongs", "belong"), d.TakenWhy)))
	}
}

// left is why items stay, and what to do about that.
func (d *document) left(out io.Writer, g *repairs.Group) {
	reason := d.kind.Words(g.Reason)
	fmt.Fprintf(out, "left  %s: they %s\n", d.kind.Count(g.Count), strings.TrimSuffix(reason.What+"; "+reason.Fix, "; "))
	items(out, g.Items, g.Count)
	if len(g.Needs) > 0 {
		fmt.Fprintln(out, output.Paragraph("it needs "+words.Few(g.Needs, 20)))
	}
	fmt.Fprintln(out)
}

// items are a line each.
func items(out io.Writer, all []repairs.Item, count int64) {
	for i := range all {
		f := &all[i]
		parts := []string{f.Object.String(), f.Path, f.Owner, f.Copy, strings.Trim(f.From+" -> "+f.To, " ->"), f.Successor, "", f.Why}
		if f.OwnerTerminating {
			parts[6] = "the owner is being deleted"
		}
		fmt.Fprintf(out, "%s%s\n", output.Indent, strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "  "))
	}
	if more := count - int64(len(all)); more > 0 {
		fmt.Fprintf(out, "%sand %d more; --limit 0 names all\n", output.Indent, more)
	}
}

// sentence is the answer.
func (d *document) sentence() string {
	moved := d.kind.Count(d.Moved) + " moved"
	if d.DryRun {
		moved = d.kind.Count(d.Moved) + " would be moved, and nothing was written"
	} else if d.Moved > 0 && d.Saved != "" {
		moved += ", and what was removed is in " + d.Saved
	}
	switch n := d.LeftCount(); {
	case d.Verdict == repairs.Remaining && n == 0:
		return fmt.Sprintf("left: %s; new ones at the version still come, so the writers have to move first", moved)
	case d.Verdict == repairs.Remaining:
		return fmt.Sprintf("left: %s; %d left", moved, n)
	case d.Verdict == repairs.NotKnown:
		return fmt.Sprintf("not known: %s; not all could be looked at", moved)
	case d.DryRun:
		return "done: " + moved
	}
	return fmt.Sprintf("done: %s; a list of everything has none left", moved)
}

// Subject is a CRD and its versions in question.
func Subject(t survivors.Target) string {
	if len(t.Leaving) == 0 {
		return t.CRD + ": no version can leave, since it has only one"
	}
	leaving := strings.Join(t.Leaving, ", ")
	leave := words.Agree(len(t.Leaving), "leaves", "leave")
	switch t.From {
	case survivors.Asked:
		return fmt.Sprintf("%s: %s %s (--version)", t.CRD, leaving, leave)
	case survivors.Removals:
		return fmt.Sprintf("%s: %s %s (VersionRemovals name them)", t.CRD, leaving, leave)
	case survivors.NotStored:
		return fmt.Sprintf("%s: %s could leave (no VersionRemoval names a version, so all but the storage version)", t.CRD, leaving)
	}
	return t.CRD
}
