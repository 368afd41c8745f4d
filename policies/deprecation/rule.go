package deprecation

import (
	"slices"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// The rules, in the order in which they are reported. Names stay the same from release to release.
const (
	// StorageWithoutOverlap: the storage version advances to a version that no release before served beside the old one.
	StorageWithoutOverlap = "StorageWithoutOverlap"
	// LessStableStorage: the storage version goes to one that is less stable than the one before.
	LessStableStorage = "LessStableStorage"
	// FlippedAndRemoved: the storage version moves, and the version it moves away from leaves in the same release.
	FlippedAndRemoved = "FlippedAndRemoved"
	// RemovedWhileStored: a version leaves that was the storage version in a release before.
	RemovedWhileStored = "RemovedWhileStored"
	// UpgradeRefused: the API server refuses the CRD where the one of the release before is.
	UpgradeRefused = "UpgradeRefused"
	// NoWayBack: after the upgrade the API server refuses the CRD of the release before.
	NoWayBack = "NoWayBack"
	// LostOnTheWayBack: the stored version has fields that the release before drops.
	LostOnTheWayBack = "LostOnTheWayBack"
	// CRDRemoved: the CRD no longer exists, without the window that its versions are due.
	CRDRemoved = "CRDRemoved"
	// StableRemoved: a stable version stops being served within a major release.
	StableRemoved = "StableRemoved"
	// NeverDeprecated: a version stops being served that no release before called deprecated.
	NeverDeprecated = "NeverDeprecated"
	// RemovedTooSoon: a version stops being served before the window after its deprecation is over.
	RemovedTooSoon = "RemovedTooSoon"
	// DeprecatedForLessStable: a version is deprecated, and no other one that is as stable is there to move to.
	DeprecatedForLessStable = "DeprecatedForLessStable"
	// FieldRenamed: a field goes and another one of the same type comes beside it in the same release. That it is a new name is a guess.
	FieldRenamed = "FieldRenamed"
	// FieldRemoved: a version that stays served loses a field.
	FieldRemoved = "FieldRemoved"
	// FieldTypeChanged: a field of a version that stays served has another type.
	FieldTypeChanged = "FieldTypeChanged"
	// FieldRequired: a field of a version that stays served has to be there from now on.
	FieldRequired = "FieldRequired"
	// EnumValuesRemoved: a field of a version that stays served does not take some values any more.
	EnumValuesRemoved = "EnumValuesRemoved"
	// DefaultChanged: a field of a version that stays served has another default, or none any more.
	DefaultChanged = "DefaultChanged"
	// ValidationTightened: a field of a version that stays served takes less than before, or is merged in another way.
	ValidationTightened = "ValidationTightened"
	// UnknownFieldsPruned: a version that stays served drops what its schema does not name, and kept it before.
	UnknownFieldsPruned = "UnknownFieldsPruned"
	// SubresourceRemoved: a version that stays served loses its status or scale subresource, or a field that selectors took.
	SubresourceRemoved = "SubresourceRemoved"
	// ConversionRemoved: nothing converts any more between versions that are served.
	ConversionRemoved = "ConversionRemoved"
	// FieldLost: the version that was stored has a field that the new storage version lacks, and nothing converts.
	FieldLost = "FieldLost"
	// FieldNotInAll: a field comes to one served version and not to another one, and nothing converts.
	FieldNotInAll = "FieldNotInAll"
	// PlacesDiffer: two places of the newest release, such as its configuration and its chart, have another CRD.
	PlacesDiffer = "PlacesDiffer"
	// SampleInvalid: a sample or a document of the newest release has an object that the API server refuses, or drops fields of.
	SampleInvalid = "SampleInvalid"
	// ChartAheadOfImage: a chart of the newest release installs a CRD with a version that the release of its image does not have.
	ChartAheadOfImage = "ChartAheadOfImage"
)

// rule finds one kind of thing in one step.
type rule struct {
	name string
	// severity is what it has where no policy says otherwise.
	severity finding.Severity
	find     func(*step) []Violation
	// within: it is about what a version does within itself, which is for information where nothing was promised: at the alpha
	// level.
	within bool
}

var rules = []rule{
	{StorageWithoutOverlap, finding.Error, storageWithoutOverlap, false},
	{LessStableStorage, finding.Error, lessStableStorage, false},
	{FlippedAndRemoved, finding.Error, flippedAndRemoved, false},
	{RemovedWhileStored, finding.Warning, removedWhileStored, false},
	{UpgradeRefused, finding.Error, upgradeRefused, false},
	{NoWayBack, finding.Warning, noWayBack, false},
	{LostOnTheWayBack, finding.Info, lostOnTheWayBack, false},
	{CRDRemoved, finding.Error, crdRemoved, false},
	{StableRemoved, finding.Error, stableRemoved, false},
	{NeverDeprecated, finding.Error, neverDeprecated, false},
	{RemovedTooSoon, finding.Error, removedTooSoon, false},
	{DeprecatedForLessStable, finding.Error, deprecatedForLessStable, false},
	{FieldRenamed, finding.Error, fieldRenamed, true},
	{FieldRemoved, finding.Error, fieldRemoved, true},
	{FieldTypeChanged, finding.Error, fieldTypeChanged, true},
	{FieldRequired, finding.Error, fieldRequired, true},
	{EnumValuesRemoved, finding.Error, enumValuesRemoved, true},
	{DefaultChanged, finding.Warning, defaultChanged, true},
	{ValidationTightened, finding.Warning, validationTightened, true},
	{UnknownFieldsPruned, finding.Error, unknownFieldsPruned, true},
	{SubresourceRemoved, finding.Error, subresourceRemoved, true},
	{ConversionRemoved, finding.Error, conversionRemoved, false},
	{FieldLost, finding.Error, fieldLost, false},
	{FieldNotInAll, finding.Warning, fieldNotInAll, false},
}

// present are the rules that look at the newest release alone, whether the one before had the CRD or not.
var present = []rule{
	{PlacesDiffer, finding.Warning, placesDiffer, false},
	{SampleInvalid, finding.Error, sampleInvalid, false},
	{ChartAheadOfImage, finding.Error, chartAheadOfImage, false},
}

// Rules are the names of all, in the order in which they are reported.
func Rules() []string {
	return words.Of(slices.Concat(rules, present), func(r rule) string { return r.name })
}
