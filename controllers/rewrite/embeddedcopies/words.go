package embeddedcopies

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

// Why a copy is left, beside the reasons that every repair has.
const (
	// Undecodable: the copy cannot be read.
	Undecodable repairs.Reason = "Undecodable"
	// NoRule: it is not known how it gets to a version that stays.
	NoRule repairs.Reason = "NoRule"
	// Conflict: the names for the successor are taken.
	Conflict repairs.Reason = "Conflict"
	// StillNamed: something names it that cannot be changed.
	StillNamed repairs.Reason = "StillNamed"
	// Declared: something names it that somebody applies, and would apply again.
	Declared repairs.Reason = "Declared"
	// NotKnown: whether anything names it is not known.
	NotKnown repairs.Reason = "NotKnown"
	// Busy: the project works with the copies of the namespace.
	Busy repairs.Reason = "Busy"
	// ByController: a controller of the project moves it.
	ByController repairs.Reason = "ByController"
	// Terminating: it goes with its owner.
	Terminating repairs.Reason = "Terminating"
)

// Kind is how stashed copies are put into words.
var Kind = repairs.Kind{
	One: "stashed copy", Many: "stashed copies", InSteps: true,
	Reasons: []repairs.InWords{
		{Reason: Undecodable, What: "cannot be decoded", Fix: "delete them if nothing needs them; the project cannot read them either"},
		{Reason: NoRule, What: "cannot be converted to a version that stays"},
		{Reason: Conflict, What: "have no free name for their successor", Fix: "look at the objects that have the names"},
		{Reason: StillNamed, What: "are named by something that cannot be changed", Fix: "they are moved when that no longer exists"},
		{Reason: Declared, What: "are named by an object that a client applies", Fix: "take the name out of what is applied"},
		{Reason: repairs.ComesBack, What: "are named again each time", Fix: "the writer has to stop first"},
		{Reason: repairs.Forbidden, What: "may not be moved"},
		{Reason: repairs.Refused, What: "were refused", Fix: "fix the object, or what refuses it"},
		{Reason: repairs.FieldsWouldBeLost, What: "are in objects, or named by some, that would lose fields", Fix: "see docs/guides/fields-would-be-lost.md"},
		{Reason: repairs.OwnerUnknown, What: "have an owner that cannot be read"},
		{Reason: NotKnown, What: "may be named by what could not be looked at, so they are not deleted"},
		{Reason: Busy, What: "lie in a namespace where the project takes or restores copies", Fix: "they are moved when that is done", Passes: true},
		{Reason: ByController, What: "are moved by the project's own controller",
			Fix: "Moult waits for it; `moult survivors migrate --take-over` moves them now", Passes: true},
		{Reason: Terminating, What: "go with their owner", Passes: true},
	},
}

// naming is one object that names another.
type naming struct {
	by referrer
	of types.NamespacedName
}

// remade is an object that was made again after it was removed.
type remade types.NamespacedName
