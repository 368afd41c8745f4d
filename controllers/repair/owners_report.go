package repair

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
)

func (f foundReferences) sayings(s subject) (all []saying) {
	if f.Moved > 0 {
		all = append(all, saying{v1alpha1.EventOwnerReferencesMoved, movedText(s, f), true})
	}
	if f.Returned > 0 {
		all = append(all, saying{v1alpha1.EventOwnerReferencesReturned, returnedText(s, f), false})
	}
	if f.stopped() {
		return all // and it begins anew, if it is still wanted
	}
	if len(f.Left) > 0 {
		all = append(all, saying{v1alpha1.EventOwnerReferencesLeft, leftText(f), false})
	}
	if f.err != nil || f.Unfinished || len(f.NotLooked) > 0 {
		all = append(all, saying{v1alpha1.EventOwnerReferencesUnknown, unknownText(f), false})
	}
	return all
}

func movedText(s subject, f foundReferences) string {
	text := fmt.Sprintf("%s moved to %s", count(f.Moved), s.target.Storage)
	if f.Taken > 0 {
		text += fmt.Sprintf("; %d of them belong to Moult in managedFields now: %s", f.Taken, f.TakenWhy)
	}
	if len(f.References) > 0 {
		text += fmt.Sprintf("; for example that of %s to %s, from %s", f.References[0].Object, f.References[0].Owner, f.References[0].From)
	}
	if names := writers(f.Writers); names != "" {
		text += "; they were set by " + names + ", which should write the storage version by now"
	}
	return text
}

func returnedText(s subject, f foundReferences) string {
	by := "managedFields do not say who"
	if len(f.ReturnedBy) > 0 {
		by = "the field manager is " + strings.Join(f.ReturnedBy, ", ")
	}
	return fmt.Sprintf("%s had been moved before, and somebody wrote another version again: %s. It has to write %s/%s, or the references come back after the removal, too",
		count(f.Returned), by, s.target.Group, s.target.Storage)
}

// maxNamed is how many objects of each sort an Event names.
const maxNamed = 3

// leftText names the largest trouble first, with an object and what to do.
func leftText(f foundReferences) string {
	total, clauses := int64(0), make([]string, 0, len(f.Left))
	for i := range f.Left {
		g := &f.Left[i]
		total += g.Count
		clauses = append(clauses, fmt.Sprintf("%d %s: %s", g.Count, whatToDo(g), examples(g)))
	}
	return fmt.Sprintf("%s could not be moved, and are tried again: %s", count(total), strings.Join(clauses, "; "))
}

func whatToDo(g *owners.Group) string {
	switch g.Reason {
	case owners.ComesBack:
		return "come back (let the field manager write the storage version)"
	case owners.Forbidden:
		return "may not be written (grant " + strings.Join(g.Needs, ", ") + ")"
	case owners.Refused:
		return "were refused (fix the object, or what refuses it)"
	case owners.OwnerGone:
		return "have an owner that does not exist (`moult repair owners --orphans` moves them; the garbage collector may then delete the objects)"
	case owners.OwnerUnknown:
		return "have an owner that cannot be read (grant " + strings.Join(g.Needs, ", ") + ")"
	}
	return string(g.Reason)
}

func examples(g *owners.Group) string {
	named := make([]string, 0, maxNamed)
	for _, ref := range g.References[:min(len(g.References), maxNamed)] {
		named = append(named, ref.Object.String())
	}
	text := strings.Join(named, ", ")
	if more := g.Count - int64(len(named)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(g.References) > 0 && g.Reason != owners.Forbidden && g.Reason != owners.OwnerGone {
		text += " (" + g.References[0].Why + ")"
	}
	return text
}

func unknownText(f foundReferences) string {
	const unknown = "not known whether owner references are left: "
	switch {
	case f.err != nil:
		return unknown + f.err.Error()
	case len(f.NotLooked) > 0:
		whys := make([]string, 0, maxNamed)
		for _, not := range f.NotLooked[:min(len(f.NotLooked), maxNamed)] {
			whys = append(whys, not.Why)
		}
		text := unknown + strings.Join(whys, "; ")
		if more := len(f.NotLooked) - len(whys); more > 0 {
			text += fmt.Sprintf("; and %d more resources, among them %s", more, f.NotLooked[len(f.NotLooked)-1].Resource)
		}
		return text
	default:
		return unknown + fmt.Sprintf("each of %d looks has found new ones", f.Looks)
	}
}

func writers(all []owners.Writer) string {
	names := make([]string, 0, maxNamed)
	for _, w := range all[:min(len(all), maxNamed)] {
		names = append(names, w.Manager)
	}
	return strings.Join(names, ", ")
}

func count(n int64) string {
	if n == 1 {
		return "1 owner reference"
	}
	return fmt.Sprintf("%d owner references", n)
}
