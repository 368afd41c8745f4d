package v1alpha1

// Reasons of a VersionRemoval's Ready condition, beside those of StorageMigrated,
// which are used while the migration itself is what is waited for.
const (
	// ReasonNothingStored: there is no such CRD, so nothing can break. True.
	ReasonNothingStored = "NothingStored"

	// ReasonAlreadyRemoved: the versions are gone from the CRD. True.
	ReasonAlreadyRemoved = "AlreadyRemoved"

	// ReasonSafeToRemove: nothing is stored at the versions, which is proved for
	// the CRD as it is, and no managedFields name them. True.
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
	// managedFields are looked through and repaired.
	ReasonRepairingOwnership = "RepairingOwnership"

	// ReasonStillServed: a version is still served and spec.require names
	// Unserved. Stalled, since a commit has to change that.
	ReasonStillServed = "StillServed"

	// ReasonStillWritten: somebody wrote at one of the versions within
	// spec.quietPeriod and spec.require names Quiet.
	ReasonStillWritten = "StillWritten"
)
