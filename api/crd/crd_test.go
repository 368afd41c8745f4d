package crd

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	apply  = metav1.ManagedFieldsOperationApply
	update = metav1.ManagedFieldsOperationUpdate

	// As the API server writes them: with Apply the item's own dot and all that was sent; after another manager has
	// changed the message, what remains.
	whole         = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	older         = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	withoutText   = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{},"f:lastTransitionTime":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	withoutReason = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{},"f:message":{},"f:status":{},"f:type":{}}}}}`
	withoutStatus = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{},"f:message":{},"f:reason":{},"f:type":{}}}}}`
	keyOnly       = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{}}}}}`
	textOnly      = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odd\"}":{"f:message":{}}}}}`
	another       = `{"f:status":{"f:conditions":{"k:{\"type\":\"Odder\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	elsewhere     = `{"f:spec":{"f:conditions":{"k:{\"type\":\"Odd\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	inAValue      = `{"f:status":{"f:conditions":{"k:{\"type\":\"k:{\\\"type\\\":\\\"Odd\\\"}\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{}}}}}`
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestWhoseConditionItIs(t *testing.T) {
	for name, c := range map[string]struct {
		entry                  metav1.ManagedFieldsEntry
		says, hasApplied, owns bool
	}{
		"all of it":                             {entry("us", apply, "status", whole), true, true, true},
		"on a server without its generation":    {entry("us", apply, "status", older), true, true, true},
		"another has changed the message":       {entry("us", apply, "status", withoutText), false, true, true},
		"another has changed the reason":        {entry("us", apply, "status", withoutReason), false, true, true},
		"another has changed the status":        {entry("us", apply, "status", withoutStatus), false, true, true},
		"the key is all that is left":           {entry("us", apply, "status", keyOnly), false, true, true},
		"one field is all that is left":         {entry("us", apply, "status", textOnly), false, true, true},
		"another manager's":                     {entry("them", apply, "status", whole), false, false, true},
		"written, and not applied, in our name": {entry("us", update, "status", whole), false, false, true},
		"applied to the main resource":          {entry("us", apply, "", whole), false, false, true},
		"another condition":                     {entry("us", apply, "status", another), false, false, false},
		"another list":                          {entry("us", apply, "status", elsewhere), false, false, false},
		"a condition whose name spells the key": {entry("us", apply, "status", inAValue), false, false, false},
		"garbage":                               {entry("us", apply, "status", `{"f:status"`), false, false, false},
		"nothing":                               {metav1.ManagedFieldsEntry{Manager: "us", Operation: apply, Subresource: "status"}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			entries := []metav1.ManagedFieldsEntry{entry("them", update, "", `{"f:spec":{"f:versions":{}}}`), c.entry}
			g.Expect(Says(entries, "us", "Odd")).To(Equal(c.says))
			g.Expect(HasApplied(entries, "us", "Odd")).To(Equal(c.hasApplied))
			g.Expect(Owns(c.entry, "Odd")).To(Equal(c.owns))
		})
	}
}

func TestTwoEntriesDoNotMakeOne(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{entry("us", apply, "status", withoutText), entry("us", update, "status", textOnly)}
	NewWithT(t).Expect(Says(entries, "us", "Odd")).To(BeFalse(), "the message was not applied")
}

func TestWhichConditionGoesWithItsManager(t *testing.T) {
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		goes    bool
	}{
		"nobody has written it":                  {nil, false},
		"it is ours":                             {[]metav1.ManagedFieldsEntry{entry("us", apply, "status", whole)}, true},
		"it is ours, and others have their own":  {[]metav1.ManagedFieldsEntry{entry("them", update, "status", another), entry("us", apply, "status", whole)}, true},
		"it is somebody else's":                  {[]metav1.ManagedFieldsEntry{entry("them", update, "status", whole)}, false},
		"somebody else's key is below ours":      {[]metav1.ManagedFieldsEntry{entry("them", update, "status", keyOnly), entry("us", apply, "status", whole)}, false},
		"a field of it is somebody else's":       {[]metav1.ManagedFieldsEntry{entry("us", apply, "status", withoutText), entry("them", update, "status", textOnly)}, false},
		"a part was written in our name as well": {[]metav1.ManagedFieldsEntry{entry("us", apply, "status", withoutText), entry("us", update, "status", textOnly)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(GoesWith(c.entries, "us", "Odd")).To(Equal(c.goes))
		})
	}
}

func TestWhoWroteStoredVersions(t *testing.T) {
	const stored = `{"f:status":{"f:storedVersions":{}}}`
	at := func(minute int, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		e.Time = &metav1.Time{Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
		return e
	}
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"nobody":                    {nil, ""},
		"nobody, only conditions":   {[]metav1.ManagedFieldsEntry{entry("them", apply, "status", whole)}, ""},
		"one":                       {[]metav1.ManagedFieldsEntry{entry("them", apply, "status", stored), entry("us", apply, "status", whole)}, "them"},
		"two, the later one":        {[]metav1.ManagedFieldsEntry{at(2, entry("them", apply, "status", stored)), at(1, entry("us", update, "status", stored))}, "them"},
		"two, in the other order":   {[]metav1.ManagedFieldsEntry{at(1, entry("us", update, "status", stored)), at(2, entry("them", apply, "status", stored))}, "them"},
		"an entry without its time": {[]metav1.ManagedFieldsEntry{entry("them", update, "status", stored)}, "them"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(StoredVersionsBy(c.entries)).To(Equal(c.want))
		})
	}
}
