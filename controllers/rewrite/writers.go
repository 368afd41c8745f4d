package rewrite

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/words"
)

// maxWriters is how many field managers a Result names: those that wrote last.
const maxWriters = 100

// Manager is a field manager at a version, as an entry of managedFields names it.
type Manager struct {
	Name        string
	Operation   string // Apply or Update
	Subresource string
	Version     string
}

func (o Ownership) manager(entry metav1.ManagedFieldsEntry) Manager {
	version, _ := o.version(entry)
	return Manager{entry.Manager, string(entry.Operation), entry.Subresource, words.Clip(version, maxName)} // any text may stand for a version
}

// String is "name (Update)" or "name (Update of status)", whatever the version.
func (m Manager) String() string {
	if m.Subresource != "" {
		return fmt.Sprintf("%s (%s of %s)", m.Name, m.Operation, m.Subresource)
	}
	return fmt.Sprintf("%s (%s)", m.Name, m.Operation)
}

// Writer is a field manager that wrote objects at a version that is to go, as
// far as managedFields tell. They tell nothing of readers, and nothing any more
// of writes whose entries have been moved.
type Writer struct {
	Manager Manager
	Objects int64
	Last    time.Time            // the latest of its writes, to the second
	Object  types.NamespacedName // the object of that write
}

// latestFirst orders writers, those of the same second by name.
func latestFirst(a, b Writer) int {
	x, y := a.Manager, b.Manager
	return cmp.Or(b.Last.Compare(a.Last), strings.Compare(x.Name, y.Name), strings.Compare(x.Operation, y.Operation),
		strings.Compare(x.Subresource, y.Subresource), strings.Compare(x.Version, y.Version))
}

// noteWriters collects who wrote an object at a version that is to go, or has gone and may come back.
func (w *Walk) noteWriters(item *metav1.PartialObjectMetadata) {
	for _, entry := range item.ManagedFields {
		by := w.Ownership.manager(entry)
		if w.Ownership.leaving(entry) || w.Ownership.lost(entry) && w.Asked.Has(by.Version) {
			w.collector.wrote(Writer{
				Manager: by, Objects: 1, Last: w.writtenAt(entry, by.Version), Object: types.NamespacedName{Namespace: item.Namespace, Name: item.Name},
			})
		}
	}
}

// writtenAt is when an entry was written, rather too late than too early: anybody
// may write any time into managedFields, or none.
func (w *Walk) writtenAt(entry metav1.ManagedFieldsEntry, version string) time.Time {
	now := w.Clock.Now()
	if entry.Time == nil || entry.Time.After(now) {
		return now
	}
	if before := w.LookedThrough[version]; before.Began.After(entry.Time.Time) && !entry.Time.After(before.Left) {
		return before.Began
	}
	return entry.Time.Time
}

// LookedThrough is the walk before that has moved the entries at a version: one that is not later than Left was written after it Began,
// whatever its time says.
type LookedThrough struct{ Began, Left time.Time }
