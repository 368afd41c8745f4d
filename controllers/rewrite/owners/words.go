package owners

import "github.com/moult-dev/moult/controllers/rewrite/repairs"

// OwnerGone: the owner of a reference does not exist, or another object has the owner's name.
const OwnerGone repairs.Reason = "OwnerGone"

// Kind is how owner references are put into words.
var Kind = repairs.Kind{
	One: "owner reference", Many: "owner references",
	Reasons: []repairs.InWords{
		{Reason: repairs.ComesBack, What: "come back", Fix: "let the field manager write the storage version"},
		{Reason: repairs.Forbidden, What: "may not be written"},
		{Reason: repairs.Refused, What: "were refused", Fix: "fix the object, or what refuses it"},
		{Reason: repairs.FieldsWouldBeLost, What: "are in objects that would lose fields", Fix: "see docs/guides/fields-would-be-lost.md"},
		{Reason: OwnerGone, What: "have an owner that does not exist",
			Fix: "`moult repair owners --orphans` moves them; the garbage collector may then delete the objects"},
		{Reason: repairs.OwnerUnknown, What: "have an owner that cannot be read"},
	},
}
