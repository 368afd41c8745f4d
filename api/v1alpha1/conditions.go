package v1alpha1

// StorageMigrated is the type of the one condition Moult puts on a CustomResourceDefinition. It is True exactly when
// every stored object has been proved to be stored at the storage version and status.storedVersions holds that version
// alone. The name differs on purpose from StorageMigrating, which belongs to the in-tree migrator. Moult never writes
// Ready, Reconciling, Stalled or status.observedGeneration on a CRD, because kstatus (and with it Flux) would take them
// for the CRD's own health.
const StorageMigrated = "StorageMigrated"

// StorageMigrating is the condition of Kubernetes' in-tree migrator
// (storagemigration.k8s.io). While it is True, Moult stands back.
const StorageMigrating = "StorageMigrating"

// VersionsRemovable is the type of the condition that lists which versions are safe to remove: those that every
// VersionRemoval which names them has found safe. It is for admission policies, which see the CRD and nothing else. It
// is True, with reason SafeToRemove, or absent; or False, with reason NotFoundSafe, where somebody else has written it.
// Its message is that of Message: the generation it holds for and the versions, with ", " between them, for example
// "generation 7: v1alpha1, v1beta1".
const VersionsRemovable = "VersionsRemovable"

// VersionsNotFoundSafe: VersionsRemovable was written by somebody else, and no
// VersionRemoval has found anything safe.
const VersionsNotFoundSafe = "NotFoundSafe"

// Reasons of the StorageMigrated condition. They are part of the API: scripts
// and health checks may compare them.
const (
	// ReasonMigrated: every object is proved to be stored at the storage
	// version and storedVersions names nothing else. The only reason with
	// status True.
	ReasonMigrated = "Migrated"

	// ReasonMigrating: objects are being rewritten at the storage version.
	ReasonMigrating = "Migrating"

	// ReasonSettling: Moult waits until no API server can still write at an
	// older version.
	ReasonSettling = "Settling"

	// ReasonVerifying: the settle time is over and every object is being
	// checked again; this walk is the proof.
	ReasonVerifying = "Verifying"

	// ReasonObjectsFailed: some objects could not be rewritten. The message
	// names them; they are tried again with growing pauses.
	ReasonObjectsFailed = "ObjectsFailed"

	// ReasonFieldsWouldBeLost: objects have fields that the storage version does not
	// have and no webhook converts, or a version that may have some is not served, so
	// nothing is rewritten. The message names the fields; AllowFieldLossAnnotation on
	// the CRD lets them go.
	ReasonFieldsWouldBeLost = "FieldsWouldBeLost"

	// ReasonConversionUnavailable: the CRD's conversion webhook does not
	// answer, so objects stored at another version cannot even be read.
	ReasonConversionUnavailable = "ConversionUnavailable"

	// ReasonForbidden: Moult lacks a permission, and the message is the RBAC rule
	// to add; or an admission policy keeps it from writing the CRD's status.
	ReasonForbidden = "Forbidden"

	// ReasonUnavailable: the API server did not answer, or only with errors,
	// for longer than a walk retries.
	ReasonUnavailable = "Unavailable"

	// ReasonPaused: the CRD carries PausedAnnotation.
	ReasonPaused = "Paused"

	// ReasonUndone: the storage version, or the opt-in label, was set by one client and set
	// back by another, twice. The message names both; nothing is rewritten until it stays.
	ReasonUndone = "Undone"

	// ReasonStorageVersionNotServed: the storage version has served: false, so
	// no client, Moult included, can write objects at it.
	ReasonStorageVersionNotServed = "StorageVersionNotServed"

	// ReasonNotEstablished: the API server does not serve the CRD (yet), for
	// example because its names conflict with another CRD's. Or it serves a built-in
	// resource of that name instead.
	ReasonNotEstablished = "NotEstablished"

	// ReasonAggregatedAPIServer: an APIService hands the requests for the CRD's
	// group on to an aggregated API server, which hides the objects that are
	// stored under the CRD.
	ReasonAggregatedAPIServer = "AggregatedAPIServer"

	// ReasonStandingBack: the in-tree migrator is at work on the CRD
	// (condition StorageMigrating is True).
	ReasonStandingBack = "StandingBack"
)

// Reasons of the Events Moult records on a CustomResourceDefinition, beside
// the reasons of the condition, which are used for Events too.
const (
	// EventTrimmed: status.storedVersions was set to the storage version alone.
	EventTrimmed = "StorageVersionsTrimmed"

	// EventOptInRemoved: the opt-in label disappeared and Moult took its
	// condition back.
	EventOptInRemoved = "OptInRemoved"

	// EventFieldsDropped: objects lose fields that the storage version does not have,
	// because AllowFieldLossAnnotation names them, or because they are in status.
	EventFieldsDropped = "FieldsDropped"

	// EventObjectsAltered: admission changed objects as they were rewritten, as it does whenever a client writes them.
	EventObjectsAltered = "ObjectsAltered"

	// EventStatusRefused: a write of the condition was refused, by RBAC or by an admission policy or webhook, so the
	// condition cannot report that.
	EventStatusRefused = "StatusRefused"

	// EventOwnerReferencesMoved: owner references to objects of the CRD were moved to
	// the storage version.
	EventOwnerReferencesMoved = "OwnerReferencesMoved"

	// EventOwnerReferencesLeft: owner references still name a version that is to be removed, or is removed, and could
	// not be moved. They are tried again.
	EventOwnerReferencesLeft = "OwnerReferencesLeft"

	// EventOwnerReferencesUnknown: not all objects of the cluster could be looked at,
	// so it is not known whether owner references are left.
	EventOwnerReferencesUnknown = "OwnerReferencesUnknown"

	// EventOwnerReferencesReturned: references that had been moved named another
	// version again, and who writes them.
	EventOwnerReferencesReturned = "OwnerReferencesReturned"

	// EventStashesMoved: stashed copies of objects of the CRD were moved to a version
	// that stays.
	EventStashesMoved = "StashesMoved"

	// EventStashesLeft: stashed copies remain at a version that is to be removed, or is removed. They are tried again.
	EventStashesLeft = "StashesLeft"

	// EventStashesUnknown: not everything that may hold or name a stashed copy could be
	// looked at, so it is not known whether any are left.
	EventStashesUnknown = "StashesUnknown"

	// EventStashesReturned: objects that had been replaced were named again after they
	// were deleted, and were created again.
	EventStashesReturned = "StashesReturned"

	// EventStashReplaced, on an object: it has taken the place of another one, which
	// was deleted.
	EventStashReplaced = "StashReplaced"

	// EventStashRestored, on an object: it had been deleted, was named again, and was
	// created again.
	EventStashRestored = "StashRestored"
)
