package snapshot

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// CRD is what one CustomResourceDefinition showed, without its schemas.
type CRD struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	// Deleting: it has a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
	// OptedIn: it carries the opt-in label; Paused: a person has paused its migration.
	OptedIn bool `json:"optedIn,omitempty"`
	Paused  bool `json:"paused,omitempty"`
	// RepairsOwners: Moult may move owner references to its objects.
	RepairsOwners bool `json:"repairsOwners,omitempty"`
	// MigratesStashes: Moult may move stashed copies of its objects.
	MigratesStashes bool `json:"migratesStashes,omitempty"`

	Versions []Version `json:"versions"`
	// StoredVersions are those of the status.
	StoredVersions []string `json:"storedVersions,omitempty"`
	// Backup is what the CRD says of its last backup; nil if the snapshot is from a Moult that did not know of backups.
	Backup *crds.LastBackup `json:"backup,omitempty"`
	// Conversion is the strategy, None or Webhook.
	Conversion string `json:"conversion,omitempty"`
	// Conditions are those that a verdict may depend on.
	Conditions []Condition `json:"conditions,omitempty"`
	// Label reports where the opt-in label comes from; nil without one.
	Label *Label `json:"label,omitempty"`

	// Objects is nil if they were not read.
	Objects *Objects `json:"objects,omitempty"`
	// Requests are those that the API server has counted; none if Snapshot.Metrics is nil.
	Requests []Requests `json:"requests,omitempty"`
	// Fields are those that the objects have, by the version that they are read at; none if they were not counted.
	Fields []FieldsAt `json:"fields,omitempty"`
	// References are what else in the cluster names a version but the storage version; nil if they were not looked for.
	References *survivors.Report `json:"references,omitempty"`
}

// FieldsAt are the fields that objects have at a version.
type FieldsAt struct {
	Version string           `json:"version"`
	Used    []crdschema.Used `json:"used"`
}

// Uses reports how many objects have a field at a version, and names some. It is not known if the objects were not
// counted, or not all could be seen, or the cluster does not have the version. One that is not counted by itself has no
// field that the storage version lacks.
func (s *Snapshot) Uses(crd, version, field string) (objects int64, named []string, known bool) {
	c := s.CRD(crd)
	if c == nil || len(c.Fields) == 0 || s.notRead(FieldsOfCRD, crd) != nil || find(c.Versions, func(v *Version) bool { return v.Name == version }) == nil {
		return 0, nil, false
	}
	for _, at := range []string{version, c.storage().Name} {
		if found := find(c.Fields, func(f *FieldsAt) bool { return f.Version == at }); found != nil {
			objects, named = crdschema.Uses(found.Used, field)
			return objects, named, true
		}
	}
	return 0, nil, false
}

// Version is one entry of spec.versions.
type Version struct {
	Name       string `json:"name"`
	Served     bool   `json:"served,omitempty"`
	Storage    bool   `json:"storage,omitempty"`
	Deprecated bool   `json:"deprecated,omitempty"`
}

// Condition is a condition of a CRD or of a VersionRemoval. Its message is without what the API server said of objects.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Ours: the condition was written by the Moult that was asked about.
	Ours bool `json:"ours,omitempty"`
}

// Label is what policies/labelorigin needs to tell who owns the opt-in label.
type Label struct {
	// Labels and Annotations are those that delivery tools leave.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Managers    []Manager         `json:"managers,omitempty"`
}

// Manager is an entry of a CRD's managedFields.
type Manager struct {
	Name        string       `json:"name"`
	Operation   string       `json:"operation"`
	Subresource string       `json:"subresource,omitempty"`
	Time        *metav1.Time `json:"time,omitempty"`
	// OwnsLabel and OwnsLastApplied: it owns the opt-in label, or the annotation of the last client-side apply.
	OwnsLabel       bool `json:"ownsLabel,omitempty"`
	OwnsLastApplied bool `json:"ownsLastApplied,omitempty"`
}

// Objects are what the metadata of all objects of a CRD told.
type Objects struct {
	Count int64 `json:"count"`
	// OwnedAt counts, for every version but the storage version, the objects whose managedFields name it.
	OwnedAt map[string]int64 `json:"ownedAt,omitempty"`
	// Writers are the field managers behind these entries, at most 100.
	Writers []Writer `json:"writers,omitempty"`
	// Stuck are objects that have been Terminating for more than five minutes.
	Stuck *Stuck `json:"stuck,omitempty"`
}

// Writer is a field manager that wrote objects at a version other than the storage version.
type Writer struct {
	Version     string    `json:"version"`
	Manager     string    `json:"manager"`
	Operation   string    `json:"operation"`
	Subresource string    `json:"subresource,omitempty"`
	Objects     int64     `json:"objects"`
	Last        time.Time `json:"last"`
	// Example is the object written last, as namespace/name.
	Example string `json:"example,omitempty"`
}

// Stuck counts objects and names a few of them.
type Stuck struct {
	Count    int64    `json:"count"`
	Examples []string `json:"examples,omitempty"`
}

// Requests are what the API server's metrics tell of one version.
type Requests struct {
	Version string `json:"version"`
	// Deprecated reports that the version was requested although it is marked as deprecated.
	Deprecated bool `json:"deprecated,omitempty"`
	// Counts are the requests by verb, WATCH among them once a watch has ended.
	Counts map[string]int64 `json:"counts,omitempty"`
	// Watches are those that are open.
	Watches int64 `json:"watches,omitempty"`
}

// clean reports whether neither storedVersions nor the managedFields of an object name one of these versions, and all
// objects were looked at.
func (c *CRD) clean(versions []string) bool {
	return c.Objects != nil && len(c.StoredVersions) > 0 && !slices.ContainsFunc(versions, func(v string) bool {
		return slices.Contains(c.StoredVersions, v) || c.Objects.OwnedAt[v] > 0
	})
}

// storage is the version that new objects are stored at.
func (c *CRD) storage() (v Version) {
	for _, v := range c.Versions {
		if v.Storage {
			return v
		}
	}
	return v
}

// StorageVersion is the version that new objects are stored at.
func (c *CRD) StorageVersion() string { return c.storage().Name }

// AllVersions are those that objects may be stored at, then the others that the CRD lists.
func (c *CRD) AllVersions() []string {
	return words.Distinct(slices.Concat(c.StoredVersions, words.Of(c.Versions, func(v Version) string { return v.Name })))
}

// subject is what a proof about this CRD has to be about.
func (c *CRD) subject() plan.Subject {
	return plan.Subject{UID: c.UID, Generation: c.Generation, StorageVersion: c.storage().Name}
}

// condition finds a condition by its type; nil if there is none.
func (c *CRD) condition(conditionType string) *Condition {
	return find(c.Conditions, func(c *Condition) bool { return c.Type == conditionType })
}

func (c *CRD) isTrue(conditionType string) bool {
	found := c.condition(conditionType)
	return found != nil && found.Status == string(metav1.ConditionTrue)
}
