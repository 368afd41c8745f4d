package crddiff

// Rule names what has changed. Names stay the same from release to release.
type Rule string

// The CRD as a whole.
const (
	// CRDAdded: there was no such CRD.
	CRDAdded Rule = "CRDAdded"
	// CRDRemoved: there is to be no such CRD. Deleting one deletes all its objects; whether anything deletes it, is for
	// policies/rollout to say (CRDPruned, CRDLeft), which has an error for it.
	CRDRemoved Rule = "CRDRemoved"
	// GroupChanged: spec.group, which no API server lets anybody change.
	GroupChanged Rule = "GroupChanged"
	// KindChanged: spec.names.kind, which no API server lets anybody change.
	KindChanged Rule = "KindChanged"
	// PluralChanged: spec.names.plural, which no API server lets anybody change.
	PluralChanged Rule = "PluralChanged"
	// ScopeChanged: spec.scope, which no API server lets anybody change.
	ScopeChanged Rule = "ScopeChanged"
	// ListKindChanged: the kind of lists.
	ListKindChanged Rule = "ListKindChanged"
	// SingularChanged: the name that kubectl takes for one object.
	SingularChanged Rule = "SingularChanged"
	// ShortNamesAdded: kubectl takes more names.
	ShortNamesAdded Rule = "ShortNamesAdded"
	// ShortNamesRemoved: kubectl takes fewer names.
	ShortNamesRemoved Rule = "ShortNamesRemoved"
	// CategoriesAdded: `kubectl get CATEGORY` shows the objects.
	CategoriesAdded Rule = "CategoriesAdded"
	// CategoriesRemoved: `kubectl get CATEGORY` does not show the objects any more.
	CategoriesRemoved Rule = "CategoriesRemoved"
	// OptInLabelGained: Moult is to migrate the CRD.
	OptInLabelGained Rule = "OptInLabelGained"
	// OptInLabelLost: Moult is not to migrate the CRD any more.
	OptInLabelLost Rule = "OptInLabelLost"
	// PruningOn: spec.preserveUnknownFields goes, so that fields outside of the schema are dropped.
	PruningOn Rule = "PruningOn"
	// PruningOff: spec.preserveUnknownFields comes, which apiextensions.k8s.io/v1 refuses.
	PruningOff Rule = "PruningOff"
)

// Versions, and which of them is stored.
const (
	// VersionAdded: spec.versions has one more.
	VersionAdded Rule = "VersionAdded"
	// VersionRemoved: spec.versions has one less.
	VersionRemoved Rule = "VersionRemoved"
	// StorageFlipped: another version is the storage version.
	StorageFlipped Rule = "StorageFlipped"
	// StorageFlippedAndRemoved: another version is the storage version, and the one that was it is removed at once.
	StorageFlippedAndRemoved Rule = "StorageFlippedAndRemoved"
	// ServedOn: the version is served again, or for the first time.
	ServedOn Rule = "ServedOn"
	// ServedOff: the version is not served any more.
	ServedOff Rule = "ServedOff"
	// VersionDeprecated: clients at the version are warned.
	VersionDeprecated Rule = "VersionDeprecated"
	// VersionUndeprecated: clients at the version are not warned any more.
	VersionUndeprecated Rule = "VersionUndeprecated"
	// DeprecationWarningChanged: clients are warned in other words.
	DeprecationWarningChanged Rule = "DeprecationWarningChanged"
	// FieldLost: the version has a field that has no place in the version that is stored from now on (Against), so that
	// it is pruned.
	FieldLost Rule = "FieldLost"
	// FieldNotInAll: a field comes to one served version and not to another (Against), while nothing converts.
	FieldNotInAll Rule = "FieldNotInAll"
)

// Conversion.
const (
	// ConversionWebhookAdded: None becomes Webhook.
	ConversionWebhookAdded Rule = "ConversionWebhookAdded"
	// ConversionWebhookRemoved: Webhook becomes None.
	ConversionWebhookRemoved Rule = "ConversionWebhookRemoved"
	// ConversionWebhookMoved: the webhook is asked at another address.
	ConversionWebhookMoved Rule = "ConversionWebhookMoved"
	// ConversionCAChanged: the webhook's certificate is checked against another authority.
	ConversionCAChanged Rule = "ConversionCAChanged"
	// ReviewVersionsNarrowed: the webhook takes fewer versions of ConversionReview.
	ReviewVersionsNarrowed Rule = "ReviewVersionsNarrowed"
	// ReviewVersionsWidened: the webhook takes more versions of ConversionReview.
	ReviewVersionsWidened Rule = "ReviewVersionsWidened"
)

// What a version offers besides its fields.
const (
	// StatusSubresourceAdded: the status is written at /status alone.
	StatusSubresourceAdded Rule = "StatusSubresourceAdded"
	// StatusSubresourceRemoved: there is no /status any more.
	StatusSubresourceRemoved Rule = "StatusSubresourceRemoved"
	// ScaleSubresourceAdded: there is a /scale.
	ScaleSubresourceAdded Rule = "ScaleSubresourceAdded"
	// ScaleSubresourceChanged: /scale reads or writes other fields.
	ScaleSubresourceChanged Rule = "ScaleSubresourceChanged"
	// ScaleSubresourceRemoved: there is no /scale any more.
	ScaleSubresourceRemoved Rule = "ScaleSubresourceRemoved"
	// PrinterColumnsChanged: `kubectl get` shows other columns.
	PrinterColumnsChanged Rule = "PrinterColumnsChanged"
	// SelectableFieldsAdded: field selectors take more fields.
	SelectableFieldsAdded Rule = "SelectableFieldsAdded"
	// SelectableFieldsRemoved: field selectors take fewer fields.
	SelectableFieldsRemoved Rule = "SelectableFieldsRemoved"
)

// Fields of a version.
const (
	// FieldAdded: the field is new; what is below it is not listed.
	FieldAdded Rule = "FieldAdded"
	// FieldRemoved: the field no longer exists, with all that was below it.
	FieldRemoved Rule = "FieldRemoved"
	// FieldDeprecated: the field's description says from now on that it is deprecated.
	FieldDeprecated Rule = "FieldDeprecated"
	// FieldTypeChanged: the field has another type; what is below it is not compared.
	FieldTypeChanged Rule = "FieldTypeChanged"
	// FieldRequired: the field has to be there from now on.
	FieldRequired Rule = "FieldRequired"
	// FieldOptional: the field need not be there any more.
	FieldOptional Rule = "FieldOptional"
	// DefaultAdded: the field has a default from now on.
	DefaultAdded Rule = "DefaultAdded"
	// DefaultChanged: the field has another default, so that objects that leave it out mean something else.
	DefaultChanged Rule = "DefaultChanged"
	// DefaultRemoved: the field has no default any more.
	DefaultRemoved Rule = "DefaultRemoved"
	// EnumAdded: the field takes only listed values from now on.
	EnumAdded Rule = "EnumAdded"
	// EnumRemoved: the field takes any value from now on.
	EnumRemoved Rule = "EnumRemoved"
	// EnumValuesAdded: the field takes more values.
	EnumValuesAdded Rule = "EnumValuesAdded"
	// EnumValuesRemoved: the field does not take some values any more.
	EnumValuesRemoved Rule = "EnumValuesRemoved"
	// FormatChanged: the field has another format.
	FormatChanged Rule = "FormatChanged"
	// PatternAdded: the field's text has to match a pattern from now on.
	PatternAdded Rule = "PatternAdded"
	// PatternChanged: the field's text has to match another pattern.
	PatternChanged Rule = "PatternChanged"
	// PatternRemoved: the field's text does not have to match a pattern any more.
	PatternRemoved Rule = "PatternRemoved"
	// LimitTightened: a minimum, a maximum or a multiple allows fewer values, lengths or counts.
	LimitTightened Rule = "LimitTightened"
	// LimitLoosened: a minimum, a maximum or a multiple allows more values, lengths or counts.
	LimitLoosened Rule = "LimitLoosened"
	// NullAllowed: the field may be null.
	NullAllowed Rule = "NullAllowed"
	// NullForbidden: the field may not be null any more.
	NullForbidden Rule = "NullForbidden"
	// ListTypeChanged: the list is merged in another way: x-kubernetes-list-type or x-kubernetes-list-map-keys.
	ListTypeChanged Rule = "ListTypeChanged"
	// MapTypeChanged: the object is merged in another way: x-kubernetes-map-type.
	MapTypeChanged Rule = "MapTypeChanged"
	// UnknownFieldsKept: x-kubernetes-preserve-unknown-fields comes.
	UnknownFieldsKept Rule = "UnknownFieldsKept"
	// UnknownFieldsPruned: x-kubernetes-preserve-unknown-fields goes, so that what the schema does not name is dropped.
	UnknownFieldsPruned Rule = "UnknownFieldsPruned"
	// EmbeddedResourceChanged: x-kubernetes-embedded-resource comes or goes.
	EmbeddedResourceChanged Rule = "EmbeddedResourceChanged"
	// ValidationAdded: a CEL rule has to hold from now on.
	ValidationAdded Rule = "ValidationAdded"
	// ValidationRemoved: a CEL rule does not have to hold any more.
	ValidationRemoved Rule = "ValidationRemoved"
	// ValidationReworded: a CEL rule is the same and says something else when it is broken.
	ValidationReworded Rule = "ValidationReworded"
	// CombinationChanged: allOf, anyOf, oneOf or not.
	CombinationChanged Rule = "CombinationChanged"
	// DescriptionsChanged: fields are described in other words; they are counted once for each version.
	DescriptionsChanged Rule = "DescriptionsChanged"
	// SchemaChanged: something of the field's schema that has no name of its own.
	SchemaChanged Rule = "SchemaChanged"
	// SchemaTooLarge: the version's schema is nested too deep or has too many fields to be compared, and it has changed.
	SchemaTooLarge Rule = "SchemaTooLarge"
)
