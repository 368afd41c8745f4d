package v1alpha1

// Reasons of a VersionRemoval's Ready condition, beside those of StorageMigrated,
// which are used while the migration itself is what is waited for.
const (
	// ReasonNothingStored: there is no such CRD, so nothing is stored. True.
	ReasonNothingStored = "NothingStored"

	// ReasonAlreadyRemoved: the versions are gone from the CRD. True.
	ReasonAlreadyRemoved = "AlreadyRemoved"

	// ReasonSafeToRemove: every object is stored at the storage version, which is
	// proved for the CRD as it is, and no managedFields named the versions at the
	// time that the message tells. That is all: references, manifests and readers
	// are not looked at, and while a version is served a write may name it again.
	// True.
	ReasonSafeToRemove = "SafeToRemove"

	// ReasonIntermediateRevisionRequired: one of the versions is still the
	// storage version. A commit that moves the storage has to come first.
	// Stalled.
	ReasonIntermediateRevisionRequired = "IntermediateRevisionRequired"

	// ReasonNotOptedIn: the CRD lacks the opt-in label, so nothing may be
	// rewritten or proved. Stalled.
	ReasonNotOptedIn = "NotOptedIn"

	// ReasonOutOfScope: this Moult was told to look after other API groups.
	// Stalled.
	ReasonOutOfScope = "OutOfScope"

	// ReasonRepairingOwnership: the objects are stored safely; now their
	// managedFields are looked through and repaired, the last time right before
	// the gate opens.
	ReasonRepairingOwnership = "RepairingOwnership"

	// ReasonOwnershipWouldBeLost: the objects are stored safely, but managedFields
	// cannot be moved away from the versions without a field manager losing
	// ownership. The message says whose, and why; AllowOwnershipLossAnnotation on the
	// CRD lets it happen.
	ReasonOwnershipWouldBeLost = "OwnershipWouldBeLost"

	// OwnershipLost is the kind of a warning: managedFields were moved away from the
	// versions, and a field manager lost ownership by that.
	OwnershipLost = "OwnershipLost"

	// ReasonStillServed: a version is still served and spec.require names
	// Unserved. Stalled, since a commit has to change that.
	ReasonStillServed = "StillServed"

	// ReasonStillWritten: somebody wrote at one of the versions within
	// spec.quietPeriod, or nobody has looked since it was over, and spec.require
	// names Quiet.
	ReasonStillWritten = "StillWritten"
)
