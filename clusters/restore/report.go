package restore

import (
	"slices"
	"sync"

	"github.com/moult-dev/moult/policies/crdschema"
)

// Outcome is how it ended with one object. The set is closed.
type Outcome string

const (
	// Created: it was not there.
	Created Outcome = "created"
	// Overwritten: it was there with other content, and now has the backup's.
	Overwritten Outcome = "overwritten"
	// PutBack: it was there without fields that were asked for, and has them again.
	PutBack Outcome = "putBack"
	// Absent: it is not there, and only fields are put back.
	Absent Outcome = "absent"
	// Unchanged: it is there as it is in the backup.
	Unchanged Outcome = "unchanged"
	// OtherStatus: it is there with another status, and is left as it is.
	OtherStatus Outcome = "otherStatus"
	// Differs: it is there with other content, and is left as it is.
	Differs Outcome = "differs"
	// Refused: the API server does not take it, or something that it needs is not there.
	Refused Outcome = "refused"
	// Unread: the backup does not have it, as it could not be read.
	Unread Outcome = "unread"
	// NotInBackup: only the files of converted objects have it, and it is left out.
	NotInBackup Outcome = "notInBackup"
	// Deleting: it was being deleted when the backup was made, and is left out.
	Deleting Outcome = "deleting"
)

// outcomes are all, in the order in which they are reported.
var outcomes = []Outcome{Created, Overwritten, PutBack, Unchanged, Absent, OtherStatus, Differs, Refused, Unread, NotInBackup, Deleting}

// Report is what a restore has done, or would do.
type Report struct {
	DryRun bool        `json:"dryRun"`
	CRDs   []CRDReport `json:"crds"`
	// NoField are the fields asked for that no object of the backup has.
	NoField []string `json:"noField,omitempty"`
	// OtherKinds are converted objects that belong to no CRD that is restored.
	OtherKinds []string `json:"otherKinds,omitempty"`
}

// CRDReport is what became of the objects of one CRD.
type CRDReport struct {
	Name string `json:"name"`
	// Needed says what has to be done first; nothing of the CRD was restored.
	Needed  string            `json:"needed,omitempty"`
	Objects int64             `json:"objects"`
	Counts  map[Outcome]int64 `json:"counts"`
	// NotKept is how many were written and are not as in the backup: the API server, or a webhook, has changed or dropped fields.
	NotKept int64 `json:"notKept"`
	// Managers is how many were restored without some of their managedFields. These name versions that the CRD no longer has, and what
	// their fields are at the version restored at is not known.
	Managers int64 `json:"withoutManagers,omitempty"`
	// Needless is how many converted objects are not used, as the cluster serves a version that the backup has.
	Needless int64 `json:"needless,omitempty"`
	// Results are some of those with more to say: up to 100 of each outcome.
	Results []Result `json:"results,omitempty"`
}

// Result is what became of one object.
type Result struct {
	Object  string  `json:"object"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`
	// Paths are those that differ, or that were not kept.
	Paths []string `json:"paths,omitempty"`
}

// NotDone reports whether something of the backup is not in the cluster now.
func (r *Report) NotDone() bool {
	if len(r.NoField) > 0 {
		return true
	}
	for i := range r.CRDs {
		if of := &r.CRDs[i]; of.Needed != "" || of.NotKept > 0 || of.Counts[Differs] > 0 || of.Counts[Refused]+of.Counts[Unread]+of.Counts[NotInBackup] > 0 {
			return true
		}
	}
	return false
}

// InOrder are the outcomes that occur.
func (of *CRDReport) InOrder() (all []Outcome) {
	for _, outcome := range outcomes {
		if of.Counts[outcome] > 0 {
			all = append(all, outcome)
		}
	}
	return all
}

// mostNamed is how many objects of an outcome are named.
const mostNamed = 100

// tally counts from several goroutines.
type tally struct {
	mu     sync.Mutex
	report Report
	byName map[string]*CRDReport
}

func (t *tally) add(crd string, result Result, notKept, lessManagers bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.byName[crd]
	of.Counts[result.Outcome]++
	if notKept {
		of.NotKept++
	}
	if lessManagers {
		of.Managers++
	}
	if (result.Why != "" || len(result.Paths) > 0) && of.Counts[result.Outcome] <= mostNamed {
		of.Results = append(of.Results, result)
	}
}

// found takes the fields that an object of the backup has out of those that none has.
func (t *tally) found(object map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.NoField = slices.DeleteFunc(t.report.NoField, func(field string) bool { return crdschema.Has(object, field) })
}
