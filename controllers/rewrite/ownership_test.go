package rewrite

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	early = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	late  = early.Add(time.Hour)
)

const (
	apply  = metav1.ManagedFieldsOperationApply
	update = metav1.ManagedFieldsOperationUpdate

	ownsSize  = `{"f:spec":{"f:size":{}}}`
	ownsColor = `{"f:spec":{"f:color":{}}}`
	ownsBoth  = `{"f:spec":{"f:color":{},"f:size":{}}}`
)

// entry is a line of managedFields, written early.
func entry(manager string, op metav1.ManagedFieldsOperationType, apiVersion, fields string, change ...func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(early)
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: op, APIVersion: apiVersion, Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func lately(e *metav1.ManagedFieldsEntry) {
	at := metav1.NewTime(late)
	e.Time = &at
}

func ofStatus(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" }

// leaving is the ownership of a CRD with v1alpha1 and v1, the former to go, and
// without spec.color in the latter.
func leaving() Ownership {
	return Ownership{
		Group: "example.com", StorageVersion: "v1", Versions: []string{"v1alpha1", "v1"}, Leaving: []string{"v1alpha1"},
		Has: HasPath(object(props{"spec": *object(props{"size": {Type: "integer"}}), "status": *object(props{"phase": {Type: "string"}})})),
	}
}

type props = map[string]apiextensionsv1.JSONSchemaProps

func object(p props) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: p}
}

func TestMove(t *testing.T) {
	const old, current = "example.com/v1alpha1", "example.com/v1"
	type entries = []metav1.ManagedFieldsEntry
	everything := func(o *Ownership) { o.Has = nil }
	for name, c := range map[string]struct {
		change       func(*Ownership)
		before, want entries
	}{
		"an object without entries has none after": {},
		"an entry at the storage version stays as it is": {
			before: entries{entry("tool", apply, current, ownsBoth)},
			want:   entries{entry("tool", apply, current, ownsBoth)}},
		"an entry at a version that is to go changes its apiVersion only": {
			before: entries{entry("tool", apply, old, ownsSize), entry("controller", update, old, `{"f:status":{"f:phase":{}}}`, ofStatus, lately)},
			want:   entries{entry("tool", apply, current, ownsSize), entry("controller", update, current, `{"f:status":{"f:phase":{}}}`, ofStatus, lately)}},
		"an entry at a version that stays is left alone": {
			change: func(o *Ownership) { o.Leaving = nil },
			before: entries{entry("tool", apply, old, ownsBoth)},
			want:   entries{entry("tool", apply, old, ownsBoth)}},
		"an entry at the storage version stays even if somebody wants that version to go": {
			change: func(o *Ownership) { o.Leaving = []string{"v1"} },
			before: entries{entry("tool", apply, current, ownsBoth)},
			want:   entries{entry("tool", apply, current, ownsBoth)}},
		"an updater at two versions that stay is left alone": {
			change: func(o *Ownership) { o.Leaving = nil },
			before: entries{entry("tool", update, old, ownsSize), entry("tool", update, current, ownsSize)},
			want:   entries{entry("tool", update, old, ownsSize), entry("tool", update, current, ownsSize)}},
		"an entry at a version that has gone is moved without a wish": {
			change: func(o *Ownership) { o.Leaving, o.Versions = nil, []string{"v1"} },
			before: entries{entry("tool", apply, old, ownsSize)},
			want:   entries{entry("tool", apply, current, ownsSize)}},
		"an entry loses the field that the storage version has not": {
			before: entries{entry("tool", apply, old, ownsBoth)},
			want:   entries{entry("tool", apply, current, ownsSize)}},
		"an entry with nothing left is dropped": {
			before: entries{entry("tool", apply, old, ownsSize), entry("painter", apply, old, ownsColor)},
			want:   entries{entry("tool", apply, current, ownsSize)}},
		"an entry that never owned anything is dropped": {
			before: entries{entry("tool", apply, old, ownsSize), entry("idle", apply, old, "{}"), entry("nil", apply, old, "", func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = nil })},
			want:   entries{entry("tool", apply, current, ownsSize)}},
		"an updater's entry joins the one it has at the storage version, with the later time": {
			change: everything,
			before: entries{entry("tool", update, old, ownsSize), entry("tool", update, current, ownsColor, lately)},
			want:   entries{entry("tool", update, current, ownsBoth, lately)}},
		"the later time is the moved entry's, if it is": {
			change: everything,
			before: entries{entry("tool", update, current, ownsColor), entry("tool", update, old, ownsSize, lately)},
			want:   entries{entry("tool", update, current, ownsBoth, lately)}},
		"a missing time is earlier than any": {
			change: everything,
			before: entries{entry("tool", update, old, ownsSize, func(e *metav1.ManagedFieldsEntry) { e.Time = nil }), entry("tool", update, current, ownsColor)},
			want:   entries{entry("tool", update, current, ownsBoth)}},
		"an applier of two versions becomes one": {
			change: everything,
			before: entries{entry("tool", apply, old, ownsSize), entry("tool", apply, current, ownsColor, lately)},
			want:   entries{entry("tool", apply, current, ownsBoth, lately)}},
		"two versions that go become one entry": {
			change: func(o *Ownership) { o.Has, o.Leaving = nil, []string{"v1alpha1", "v1alpha2"} },
			before: entries{entry("tool", update, old, ownsSize), entry("tool", update, "example.com/v1alpha2", ownsColor, lately)},
			want:   entries{entry("tool", update, current, ownsBoth, lately)}},
		"an applier and an updater of one name stay two": {
			before: entries{entry("tool", apply, old, ownsSize), entry("tool", update, current, ownsSize)},
			want:   entries{entry("tool", apply, current, ownsSize), entry("tool", update, current, ownsSize)}},
		"a manager and the same one of the status stay two": {
			before: entries{entry("tool", update, old, ownsSize), entry("tool", update, current, `{"f:status":{"f:phase":{}}}`, ofStatus)},
			want:   entries{entry("tool", update, current, ownsSize), entry("tool", update, current, `{"f:status":{"f:phase":{}}}`, ofStatus)}},
		"the list is never empty: the last one keeps a place without a field": {
			before: entries{entry("painter", apply, old, ownsColor), entry("sprayer", update, old, ownsColor, lately)},
			want:   entries{entry("sprayer", update, current, `{"f:metadata":{}}`, lately)}},
		"entries of other groups are untouched, whatever their version and fields": {
			before: entries{entry("scaler", update, "autoscaling/v1alpha1", ownsColor), entry("core", update, "v1alpha1", ownsColor), entry("garbled", update, "other.example.com/v1alpha1", "garbage"), entry("tool", apply, old, ownsSize)},
			want:   entries{entry("scaler", update, "autoscaling/v1alpha1", ownsColor), entry("core", update, "v1alpha1", ownsColor), entry("garbled", update, "other.example.com/v1alpha1", "garbage"), entry("tool", apply, current, ownsSize)}},
		"ownership of labels and of a list's items moves too": {
			change: func(o *Ownership) {
				o.Has = HasPath(object(props{"spec": *object(props{"parts": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: object(props{"name": {Type: "string"}})}}})}))
			},
			before: entries{entry("tool", apply, old, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{},"f:gone":{}}}}}`)},
			want:   entries{entry("tool", apply, current, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{}}}}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := leaving()
			if c.change != nil {
				c.change(&o)
			}
			before := deepCopy(c.before)
			got, err := o.Move(c.before)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
			g.Expect(c.before).To(Equal(before), "what was read is not changed")
			again, err := o.Move(got)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(got), "there is nothing left to move")
		})
	}
}

func deepCopy(entries []metav1.ManagedFieldsEntry) (copied []metav1.ManagedFieldsEntry) {
	for _, e := range entries {
		copied = append(copied, *e.DeepCopy())
	}
	return copied
}

func TestGarbageInManagedFieldsIsAnErrorThatNamesTheManager(t *testing.T) {
	g := NewWithT(t)
	for _, garbage := range []string{"garbage", `"text"`, `[1]`, `{"f:a"`, `{"k:{":{}}`} {
		_, err := leaving().Move([]metav1.ManagedFieldsEntry{entry("tool", apply, "example.com/v1alpha1", garbage)})
		g.Expect(err).To(MatchError(ContainSubstring("managedFields of tool")), garbage)
	}
}
