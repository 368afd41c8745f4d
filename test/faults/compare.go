package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Busy is what somebody else has been doing to the objects meanwhile, so that it is nobody's loss.
type Busy struct {
	// Managers are those who may have come, and whose entries may have changed.
	Managers []string
	// Change takes out of an object what they write.
	Change func(*unstructured.Unstructured)
}

// Lost compares objects as etcd held them before and after a migration. What it returns has been lost or changed, one
// line each: an object, a field of it other than apiVersion, somebody's ownership of a field. It is nobody's to gain
// ownership either.
func Lost(before, after map[string][]byte, busy Busy) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			lines = append(lines, name+" is gone")
			continue
		}
		was, is := decode(before[name]), decode(after[name])
		for _, line := range lostOwners(was, is, busy.Managers) {
			lines = append(lines, name+": "+line)
		}
		for _, o := range []*unstructured.Unstructured{was, is} {
			o.SetAPIVersion("")
			o.SetManagedFields(nil)
			if busy.Change != nil {
				busy.Change(o)
			}
		}
		if !reflect.DeepEqual(was.Object, is.Object) {
			lines = append(lines, name+" has changed (- before, + after):\n"+diff.Diff(was.Object, is.Object))
		}
	}
	return lines
}

func decode(raw []byte) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, o); err != nil {
		panic(fmt.Sprintf("etcd holds what is no object: %v", err))
	}
	return o
}

// owner is a manager as the API server tells them apart, the version aside.
type owner struct{ manager, operation, subresource string }

func lostOwners(before, after *unstructured.Unstructured, busy []string) (lines []string) {
	was, is := owned(before, busy), owned(after, busy)
	for who, fields := range was {
		now := is[who]
		switch {
		case now == nil:
			lines = append(lines, fmt.Sprintf("%v owns nothing any more", who))
		case !fields.Equals(now):
			lines = append(lines, fmt.Sprintf("%v no longer owns %v, and owns anew %v", who, fields.Difference(now), now.Difference(fields)))
		}
	}
	for who := range is {
		if was[who] == nil {
			lines = append(lines, fmt.Sprintf("%v owns fields and did not before", who))
		}
	}
	slices.Sort(lines)
	return lines
}

func owned(o *unstructured.Unstructured, busy []string) map[owner]*fieldpath.Set {
	all := map[owner]*fieldpath.Set{}
	for _, entry := range o.GetManagedFields() {
		if slices.ContainsFunc(busy, func(m string) bool { return strings.HasPrefix(entry.Manager, m) }) {
			continue
		}
		who := owner{entry.Manager, string(entry.Operation), entry.Subresource}
		if all[who] == nil {
			all[who] = fieldpath.NewSet()
		}
		all[who] = all[who].Union(fieldsOf(entry))
	}
	return all
}

func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 != nil {
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			panic(fmt.Sprintf("fields of %s: %v", entry.Manager, err))
		}
	}
	return fields
}
