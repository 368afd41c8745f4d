package v1alpha1

// Reasons of a VersionRemoval's Ready condition, beside those of StorageMigrated,
// which are used while the migration itself is what is waited for.
const (
	// ReasonNothingStored: there is no such CRD, so nothing is stored. True.
	ReasonNothingStored = "NothingStored"

	// ReasonDeletionFailed: the API server cannot, or could not, delete the objects of
	// the CRD with it. They may be left in etcd where nothing can read them.
	ReasonDeletionFailed = "DeletionFailed"

	// ReasonDeletionUnproved: the CRD is being deleted, or was, and when it was last seen
	// objects may have been stored at the versions. The API server deletes them
	// with it, unless its finalizer is taken off.
	ReasonDeletionUnproved = "DeletionUnproved"

	// ReasonAlreadyRemoved: the versions are gone from the CRD. True.
	ReasonAlreadyRemoved = "AlreadyRemoved"

	// ReasonSafeToRemove: every object is stored at the storage version, which is proved for the CRD as it is. No
	// managedFields named the versions at the time in the message. With NoReferences or NoStashes in spec.require,
	// nothing else in the cluster named them either, in what was looked at. Backups, Git, other clusters and readers
	// are not looked at, and while a version is served a write may name it again. True.
	ReasonSafeToRemove = "SafeToRemove"

	// ReasonIntermediateRevisionRequired: one of the versions is still the
	// storage version. A commit that moves the storage has to come first.
	// Stalled.
	ReasonIntermediateRevisionRequired = "IntermediateRevisionRequired"

	// ReasonNotOptedIn: the CRD lacks the opt-in label, so nothing may be
	// rewritten or proved. Stalled.
	ReasonNotOptedIn = "NotOptedIn"

	// ReasonOutOfScope: this Moult is set to look after other API groups. Stalled.
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

	// ReasonStillWritten: somebody wrote at one of the versions within spec.quietPeriod, or Moult has not looked since
	// it was over, and spec.require names Quiet.
	ReasonStillWritten = "StillWritten"

	// ReasonStillReferenced: other objects name one of the versions, and spec.require
	// names NoReferences. Stalled where a commit or a person has to change that. The
	// kinds of the blockers are the places that name it, see docs/survivors.md.
	ReasonStillReferenced = "StillReferenced"

	// ReasonStillStashed: whole objects are kept at one of the versions inside of other
	// objects, and spec.require names NoStashes. Otherwise as StillReferenced.
	ReasonStillStashed = "StillStashed"

	// ReasonReferencesUnknown: spec.require names NoReferences or NoStashes, and it is not known whether other objects
	// name one of the versions: Moult has not looked yet, or could not look at everything. Stalled where Moult is not
	// told to look. As the kind of a warning: what was not looked at, without such a requirement.
	ReasonReferencesUnknown = "ReferencesUnknown"

	// ReasonNotBackedUp: spec.require names Backup, and BackupAnnotation records no backup of the CRD as it is now. The
	// message says what is the matter with it, and how to take one.
	ReasonNotBackedUp = "NotBackedUp"
)
