package rewrite

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Outcome is how one object ended in a walk.
type Outcome string

const (
	// Rewritten: the resourceVersion moved, so the object is stored at the
	// storage version now.
	Rewritten Outcome = "rewritten"
	// Current: the API server found nothing to write; the bytes in etcd are
	// already what it would write.
	Current Outcome = "current"
	// Overtaken (in a checking walk only): another client wrote the object
	// between the list and the check, so after the settle time.
	Overtaken Outcome = "overtaken"
	// Altered (in a checking walk only): the check's own write changed its content,
	// although it asked for no change: a mutating webhook is at work, for example. It
	// is current by that write. Whether it was stale before cannot be told.
	Altered Outcome = "altered"
	// Repaired: managedFields were moved to the storage version, which stores
	// the object again as well.
	Repaired Outcome = "repaired"
	// Gone: deleted since it was listed.
	Gone Outcome = "gone"
	// Failed: could not be rewritten.
	Failed Outcome = "failed"
)

// MaxFailedObjects is how many failed objects a Result names; all are counted.
const MaxFailedObjects = 20

// FailedObject names one object that could not be rewritten, and why.
type FailedObject struct {
	types.NamespacedName
	Reason  string // CamelCase, few values
	Message string // the API server's own words
}

// String is "namespace/name: Reason: message".
func (f FailedObject) String() string {
	name := cmp.Or(f.Name, "an object that `moult doctor` finds")
	if f.Namespace != "" {
		name = f.NamespacedName.String()
	}
	if len(name) > maxName {
		name = name[:maxName/2] + "…" + name[len(name)-maxName/2:]
	}
	return fmt.Sprintf("%s: %s: %s", name, f.Reason, f.Message)
}

// maxName is how much of a name is reported, in bytes, so that the reason is not cut off behind it.
const maxName = 120

func byKey(a, b FailedObject) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Result counts the objects of a walk.
type Result struct {
	Total         int64 // listed so far plus what the API server says is to come
	By            map[Outcome]int64
	FailedBy      map[string]int64 // by reason
	FailedObjects []FailedObject   // the first MaxFailedObjects by namespace and name
	// Writers are the field managers that wrote at a version that is to go, the latest first; of very many, those that
	// wrote last.
	Writers []Writer
	// LastWrites is the latest write at each such version, by any manager.
	LastWrites map[string]time.Time
	// Losses are what field managers lose of ownership, or would lose.
	Losses []Loss
	// Fields are those that objects lose because the storage version does not have them, by name. The look before the
	// walk fills them in.
	Fields []FieldLoss
	// Alteration is the first object by namespace and name whose content was changed
	// by a write that asked for no change; nil if there is none.
	Alteration *Alteration
	// ListedRV is the resourceVersion of the first page.
	ListedRV string
}

// With is the result with more objects that have failed.
func (r Result) With(failed []FailedObject) Result {
	if len(failed) == 0 {
		return r
	}
	c := &collector{}
	if c.begin(); r.By != nil {
		c.result = r
	}
	c.result.Fields = r.Fields
	for _, f := range failed {
		c.fail(f)
	}
	return c.result
}

// Dropped are the fields that objects have lost: none, as long as the walk has stored none of them again.
func (r Result) Dropped() []FieldLoss {
	if r.By[Rewritten]+r.By[Repaired]+r.By[Altered] == 0 {
		return nil
	}
	return r.Fields
}

// Done is how many objects have an outcome.
func (r Result) Done() (n int64) {
	for _, k := range r.By {
		n += k
	}
	return n
}
