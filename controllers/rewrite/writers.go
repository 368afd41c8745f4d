package rewrite

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxWriters is how many field managers a Result names: those that wrote last.
const maxWriters = 100

// Writer is a field manager that wrote objects at a version that is to go, as
// far as managedFields tell. They tell nothing of readers, and nothing any more
// of writes whose entries have been moved.
type Writer struct {
	Manager     string
	Operation   string // Apply or Update
	Subresource string
	Version     string
	Objects     int64
	Last        time.Time            // the latest of its writes, to the second
	Object      types.NamespacedName // the object of that write
}

// writerKey tells writers apart.
type writerKey struct{ manager, operation, subresource, version string }

func (w Writer) key() writerKey { return writerKey{w.Manager, w.Operation, w.Subresource, w.Version} }

// latestFirst orders writers, those of the same second by name.
func latestFirst(a, b Writer) int {
	return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Manager, b.Manager), strings.Compare(a.Operation, b.Operation),
		strings.Compare(a.Subresource, b.Subresource), strings.Compare(a.Version, b.Version))
}

// noteWriters collects who wrote an object at a version that is to go.
func (w *Walk) noteWriters(item *metav1.PartialObjectMetadata) {
	for _, entry := range item.ManagedFields {
		if !w.Ownership.leaving(entry) {
			continue
		}
		version, _ := w.Ownership.version(entry)
		w.collector.wrote(Writer{
			Manager: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource, Version: version,
			Objects: 1, Last: w.writtenAt(entry, version), Object: types.NamespacedName{Namespace: item.Namespace, Name: item.Name},
		})
	}
}

// writtenAt is when an entry was written, rather too late than too early: anybody
// may write any time into managedFields, or none.
func (w *Walk) writtenAt(entry metav1.ManagedFieldsEntry, version string) time.Time {
	now := w.Clock.Now()
	if entry.Time == nil || entry.Time.After(now) {
		return now
	}
	if after := w.WrittenAfter[version]; after.After(entry.Time.Time) {
		return after
	}
	return entry.Time.Time
}
