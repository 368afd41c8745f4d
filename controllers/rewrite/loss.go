package rewrite

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/policies/words"
)

// maxLosses is how many a Result names; one at each version where entries wait, it
// always does.
const maxLosses = 100

// Loss is what a field manager no longer owns because its entries were moved to
// the storage version, or would no longer own, for which they were left alone.
type Loss struct {
	Manager Manager
	Waits   bool // the entries were left at the manager's version
	Objects int64
	Fields  int64                // of all those objects
	Field   string               // one of them, as it is called at that version
	Object  types.NamespacedName // that has it
	Why     string
}

func (v *visitor) loss(o Ownership, entry metav1.ManagedFieldsEntry, fields *fieldpath.Set, why error, waits bool) Loss {
	l := Loss{Manager: o.manager(entry), Waits: waits, Objects: 1, Fields: int64(fields.Size()), Object: v.key(), Why: words.Clip(why.Error(), words.MostQuoted)}
	fields.Iterate(func(path fieldpath.Path) {
		if l.Field == "" {
			l.Field = words.Clip(strings.TrimPrefix(path.String(), "."), words.MostQuoted)
		}
	})
	return l
}
