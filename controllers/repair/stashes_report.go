package repair

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/policies/words"
)

func (f foundStashes) sayings(subject) (all []saying) {
	if f.Moved > 0 {
		all = append(all, saying{v1alpha1.EventStashesMoved, f.movedText(), true})
	}
	if f.GivenBack > 0 {
		all = append(all, saying{v1alpha1.EventStashesReturned, fmt.Sprintf(
			"%s named again after the objects that hold them were deleted, so these were created again; Events on them tell by whom", copies(f.GivenBack, "was", "were")), false})
	}
	if f.stopped() {
		return all // and it begins anew, if it is still wanted
	}
	if len(f.Left) > 0 {
		all = append(all, f.leftSaying())
	}
	if f.err != nil || f.Unfinished || len(f.NotLooked) > 0 {
		all = append(all, saying{v1alpha1.EventStashesUnknown, f.unknownText(), false})
	}
	return all
}

func (f foundStashes) movedText() string {
	text := copies(f.Moved, "was", "were") + " moved"
	for i := range f.Stashes[:min(len(f.Stashes), maxNamed)] {
		s := &f.Stashes[i]
		text += fmt.Sprintf("; that of %s from %s to %s in %s, whose annotations keep the object that was deleted", s.Object, s.From, s.To, s.Successor)
	}
	if more := f.Moved - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more; an Event on each successor tells", more)
	}
	return text
}

// leftSaying names each reason with objects and what to do. It is no warning if nobody has to do anything.
func (f foundStashes) leftSaying() saying {
	total, clauses, normal := int64(0), make([]string, 0, len(f.Left)), true
	for i := range f.Left {
		g := &f.Left[i]
		total += g.Count
		normal = normal && g.Reason.Passes()
		clauses = append(clauses, fmt.Sprintf("%d %s: %s", g.Count, whatHolds(g), stashed(g)))
	}
	return saying{v1alpha1.EventStashesLeft, fmt.Sprintf("%s left, and tried again: %s", copies(total, "is", "are"), strings.Join(clauses, "; ")), normal}
}

// whatHolds is a reason, and what to do.
func whatHolds(g *embeddedcopies.Group) string {
	switch g.Reason {
	case embeddedcopies.Undecodable:
		return "cannot be decoded (delete them if nothing needs them)"
	case embeddedcopies.NoRule:
		return "cannot be converted to a version that stays"
	case embeddedcopies.Conflict:
		return "for whose successors the names are taken (look at the objects that have them)"
	case embeddedcopies.StillNamed:
		return "are named by something that cannot be changed (they are moved when that has gone)"
	case embeddedcopies.Declared:
		return "are named by an object that somebody applies (take the name out of what is applied)"
	case embeddedcopies.ComesBack:
		return "are named again each time (the writer has to stop first)"
	case embeddedcopies.Forbidden:
		return "may not be moved (grant " + words.Few(g.Needs, 5) + ")"
	case embeddedcopies.Refused:
		return "were refused (fix the object, or what refuses it)"
	case embeddedcopies.OwnerUnknown:
		return "have an owner that cannot be read"
	case embeddedcopies.NotKnown:
		return "may be named by what could not be looked at, so they are not deleted"
	case embeddedcopies.Busy:
		return "lie in a namespace where the project takes or restores copies (they are moved when that is done)"
	case embeddedcopies.ByController:
		return "are moved by the project's own controller, which Moult waits for"
	case embeddedcopies.Terminating:
		return "go with their owner"
	}
	return string(g.Reason)
}

func stashed(g *embeddedcopies.Group) string {
	named := make([]string, 0, maxNamed)
	for i := range g.Stashes[:min(len(g.Stashes), maxNamed)] {
		named = append(named, g.Stashes[i].Object.String())
	}
	text := strings.Join(named, ", ")
	if more := g.Count - int64(len(named)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(g.Stashes) > 0 && g.Stashes[0].Why != "" && g.Reason != embeddedcopies.Forbidden {
		text += " (" + g.Stashes[0].Why + ")"
	}
	return text
}

func (f foundStashes) unknownText() string {
	const unknown = "not known whether stashed copies are left: "
	if f.err != nil {
		return unknown + f.err.Error()
	}
	whys := make([]string, 0, len(f.NotLooked))
	for _, not := range f.NotLooked {
		whys = append(whys, not.Why)
	}
	if len(whys) > 0 {
		return unknown + words.Few(whys, maxNamed)
	}
	return unknown + fmt.Sprintf("each of %d looks has found new ones", f.Looks)
}

func copies(n int64, is, are string) string {
	if n == 1 {
		return "1 stashed copy " + is
	}
	return fmt.Sprintf("%d stashed copies %s", n, are)
}
