package repairs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/words"
)

// Reason is why an item was left. Each Kind has a closed set of them.
type Reason string

// The reasons that every kind has.
const (
	// ComesBack: it was moved, and somebody has written the old version again.
	ComesBack Reason = "ComesBack"
	// Forbidden: a permission is missing.
	Forbidden Reason = "Forbidden"
	// Refused: the API server, a webhook or a policy has refused a write, or has not answered.
	Refused Reason = "Refused"
	// FieldsWouldBeLost: a write would drop fields that the storage version of the written object's CRD does not have.
	FieldsWouldBeLost Reason = v1alpha1.ReasonFieldsWouldBeLost
	// OwnerUnknown: whether its owner exists is not known.
	OwnerUnknown Reason = "OwnerUnknown"
)

// Kind is one kind of repair, in words.
type Kind struct {
	// One and Many are the nouns, as in "owner reference".
	One, Many string
	// Reasons are all of them, in the order in which they are printed.
	Reasons []InWords
	// InSteps: an item takes more than one look, so that only looks without one that is moved are counted.
	InSteps bool
}

// InWords is a reason as people read it.
type InWords struct {
	Reason
	// What holds of these items, as in "were refused", and Fix is what to do about them.
	What, Fix string
	// Passes: the reason goes by itself, so nothing has to be done.
	Passes bool
}

// Count is a number of items.
func (k *Kind) Count(n int64) string { return fmt.Sprintf("%d %s", n, words.Agree(n, k.One, k.Many)) }

// Words are those of a reason.
func (k *Kind) Words(reason Reason) InWords {
	if i := slices.IndexFunc(k.Reasons, func(w InWords) bool { return w.Reason == reason }); i >= 0 {
		return k.Reasons[i]
	}
	return InWords{Reason: reason, What: string(reason)}
}

// FixOf is what to do about a group: what the reason says, or the permission to grant.
func (k *Kind) FixOf(g *Group) string {
	if len(g.Needs) > 0 {
		return "grant " + words.Few(g.Needs, 5)
	}
	return k.Words(g.Reason).Fix
}

// Clause is a group in an Event: how many, what to do, some objects, and why of the first.
func (k *Kind) Clause(g *Group, named int) string {
	text := fmt.Sprintf("%d %s", g.Count, k.Words(g.Reason).What)
	if fix := k.FixOf(g); fix != "" {
		text += " (" + fix + ")"
	}
	some := g.Items[:min(named, len(g.Items))]
	text += ": " + strings.Join(words.Of(some, func(i Item) string { return i.Object.String() }), ", ")
	if more := g.Count - int64(len(some)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(g.Items) > 0 && g.Items[0].Why != "" && g.Reason != Forbidden {
		text += " (" + g.Items[0].Why + ")"
	}
	return text
}

// Unknown says why it is not known whether any are left; empty if it is.
func (k *Kind) Unknown(r *Report, err error, named int) string {
	unknown := "not known whether " + k.Many + " are left: "
	switch {
	case err != nil:
		return unknown + err.Error()
	case len(r.NotLooked) > 0:
		return unknown + words.FewClauses(words.Of(r.NotLooked, func(n NotLooked) string { return n.Why }), named)
	case r.Unfinished:
		return unknown + fmt.Sprintf("each of %d looks has found new ones", r.Looks)
	}
	return ""
}
