package v1alpha1

const (
	// MigrateLabel on a CustomResourceDefinition, with the value "true", opts
	// the CRD in: Moult may rewrite its objects and trim its
	// status.storedVersions. Without it Moult never writes to the CRD.
	MigrateLabel = "moult.dev/migrate"

	// MigrateLabelValue is the only value of MigrateLabel that opts in.
	MigrateLabelValue = "true"

	// MigrateLabelExcluded as the value of MigrateLabel says that a CRD is left out on
	// purpose. Like every value but "true" it opts nothing in; beyond that, nothing is
	// found about the CRD, and the opt-in Component leaves it alone.
	MigrateLabelExcluded = "false"

	// PausedAnnotation on a CustomResourceDefinition, with the value "true",
	// stops Moult on that CRD until the annotation is removed.
	PausedAnnotation = "moult.dev/paused"

	// PausedAnnotationValue is the only value of PausedAnnotation that pauses.
	PausedAnnotationValue = "true"

	// AllowOwnershipLossAnnotation on a CustomResourceDefinition names versions, with commas between them, for example
	// "v1alpha1". A conversion webhook can make it impossible to move the managedFields of an object away from such a
	// version without a manager losing ownership. Moult then moves them all the same.
	AllowOwnershipLossAnnotation = "moult.dev/allow-ownership-loss"

	// AllowFieldLossAnnotation on a CustomResourceDefinition names fields that the
	// storage version does not have, with commas between them, for example
	// "spec.clientId,spec.hosts[*].old". Objects that have one of them are then
	// rewritten all the same, and lose it. [*] is any item of a list, * any key of a
	// map; a key with a dot is written as spec.labels["example.com/team"].
	AllowFieldLossAnnotation = "moult.dev/allow-field-loss"

	// RepairOwnersAnnotation on a CustomResourceDefinition that is opted in, with the value "true", lets Moult write to
	// other objects. Owner references to the CRD's objects, wherever they are, are moved to the storage version from
	// versions that are to be removed, or are removed.
	RepairOwnersAnnotation = "moult.dev/repair-owners"

	// RepairOwnersAnnotationValue is the only value of RepairOwnersAnnotation that does.
	RepairOwnersAnnotationValue = "true"

	// MigrateStashesAnnotation on a CustomResourceDefinition that is opted in, with the value "true", lets Moult move
	// stashed copies of the CRD's objects. They lie in other objects, at versions that are to be removed, or are
	// removed. Moult makes a successor of each such object, changes what names it, and then deletes it.
	MigrateStashesAnnotation = "moult.dev/migrate-stashes"

	// MigrateStashesAnnotationValue is the only value of MigrateStashesAnnotation that
	// does.
	MigrateStashesAnnotationValue = "true"

	// GateNamespacesAnnotation on a CustomResourceDefinition names namespaces, with
	// commas between them, for example "platform,team-a". Only VersionRemovals in these
	// count towards its condition VersionsRemovable. Without it, those count that the
	// controller answers.
	GateNamespacesAnnotation = "moult.dev/gate-namespaces"

	// BackupAnnotation on a CustomResourceDefinition is what `moult backup --annotate` writes once it has read back the
	// file that it has written. It is one JSON value, with the time, the file's digest, and the CRD's UID, generation
	// and storage version. A VersionRemoval that requires Backup waits for it.
	BackupAnnotation = "moult.dev/backup"

	// ReplacedAnnotationPrefix begins the annotations of an object that has taken the
	// place of others. Each holds one of those as it was, as JSON, compressed by gzip,
	// in base64.
	ReplacedAnnotationPrefix = "replaced.moult.dev/"

	// FieldManager is the name under which Moult writes to the API server. It
	// appears in metadata.managedFields of everything Moult owns a field of.
	FieldManager = "moult"

	// BackupFieldManager is the name under which BackupAnnotation is written.
	BackupFieldManager = FieldManager + "-backup"

	// RemovalFieldManager is the name under which VersionsRemovable is written.
	RemovalFieldManager = FieldManager + "-removal"
)

// FieldManagerOf is a field manager's name in an installation with an opt-in label of its own, so that two
// installations do not take one another's fields. It is the name itself with MigrateLabel, else the name, a colon and
// the label's key.
func FieldManagerOf(manager, labelKey string) string {
	if labelKey == MigrateLabel {
		return manager
	}
	return manager + ":" + labelKey
}
