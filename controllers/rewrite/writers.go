package rewrite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxWriters is how many field managers a Tally names.
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

func (w Writer) same(o Writer) bool {
	return w.Manager == o.Manager && w.Operation == o.Operation && w.Subresource == o.Subresource && w.Version == o.Version
}

// noteWriters collects who wrote an object at a version that is to go.
func (w *Walk) noteWriters(book *tallyBook, item *metav1.PartialObjectMetadata) {
	for _, entry := range item.ManagedFields {
		if !w.Ownership.leaving(entry) {
			continue
		}
		version, _ := w.Ownership.version(entry)
		writer := Writer{
			Manager: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource, Version: version,
			Objects: 1, Object: types.NamespacedName{Namespace: item.Namespace, Name: item.Name},
		}
		if entry.Time != nil {
			writer.Last = entry.Time.Time
			if now := w.Clock.Now(); writer.Last.After(now) {
				writer.Last = now // anybody may write any time into managedFields
			}
		}
		book.wrote(writer)
	}
}
