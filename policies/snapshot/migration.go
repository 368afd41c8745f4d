package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// migration is how far the migration of a CRD was, as the controller would know it had it just started and read what an
// earlier process has left. It is nil if no Moult has said anything about this very generation.
func (s *Snapshot) migration(crd *CRD, asked []string, gate *Removal) *plan.MigrationStatus {
	c := crd.said()
	if c == nil {
		return nil
	}
	o := plan.Observation{
		Now:         s.TakenAt,
		Present:     !crd.Deleting,
		OptedIn:     crd.OptedIn,
		InScope:     true, // else there would be no condition
		Paused:      crd.Paused,
		Established: crd.isTrue(string(apiextensionsv1.Established)),
		InTree:      plan.InTree{Running: crd.isTrue(v1alpha1.StorageMigrating), Since: s.TakenAt, Begun: s.TakenAt},
		Served:      crd.storage().Served,
		Subject:     crd.subject(), StoredVersions: crd.StoredVersions,
	}
	o.Removal.Versions = slices.DeleteFunc(slices.Sorted(slices.Values(asked)), func(v string) bool { return v == o.StorageVersion })
	o.Evidence = s.evidence(crd, o, *c, gate)
	if o.Walking = walking(o.Subject, *c); o.Walking != nil && o.Walking.Mode == plan.Checking {
		o.Evidence.WindowEnd = o.Now // the process that checks has waited
	}
	status := &plan.MigrationStatus{
		Subject: o.Subject, Decision: plan.Decide(o), Evidence: o.Evidence, Walking: o.Walking, Writers: crd.writers(),
	}
	if gate != nil && gate.answered() {
		for _, text := range gate.Failures {
			status.FailedObjects = append(status.FailedObjects, plan.FailedObject{Text: text})
		}
	}
	return status
}

// said is our condition, if it speaks of the CRD as it is; else nil.
func (c *CRD) said() *Condition {
	found := c.condition(v1alpha1.StorageMigrated)
	if found == nil || !found.Ours || !v1alpha1.SpeaksOf(found.Message, c.Generation) {
		return nil
	}
	return found
}

// settle is of no consequence: a snapshot does not tell when a settle time began, so it always has just begun.
const settle = time.Minute

// evidence is begun as the controller begins it. What the controller keeps to itself is taken from where it shows: the
// objects' managedFields, and the gate.
func (s *Snapshot) evidence(crd *CRD, o plan.Observation, c Condition, gate *Removal) plan.Evidence {
	said := plan.Said{True: c.Status == string(metav1.ConditionTrue), Reason: c.Reason, Message: c.Message}
	recorded := plan.FromCondition(o, &said)
	recorded.Settle = max(recorded.Settle, settle) // the settle time of that cluster's Moult is not known here
	e := plan.Begin(o.Subject, recorded, s.TakenAt, settle).Seen(o.Clean(), s.TakenAt, settle)
	if c.Reason == v1alpha1.ReasonSettling && !e.Rewritten { // the schemas are new there
		e.Shape.Until = e.WindowEnd
	}
	if slices.Contains(failures, c.Reason) {
		e = e.Failed(plan.Failure{Reason: c.Reason, Message: sentence(c)}, s.TakenAt)
	}
	e.Survey = s.survey(crd, gate)
	return e
}

// failures are the reasons of a walk that did not succeed.
var failures = []string{
	v1alpha1.ReasonObjectsFailed, v1alpha1.ReasonConversionUnavailable, v1alpha1.ReasonForbidden, v1alpha1.ReasonUnavailable,
	v1alpha1.ReasonAggregatedAPIServer, v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonUndone,
}

// survey is what is known of managedFields. The snapshot has looked through them all, or through none.
func (s *Snapshot) survey(crd *CRD, gate *Removal) (survey plan.Surveyed) {
	if gate != nil && gate.answered() && !gate.ready() && slices.Contains(failures, gate.Ready.Reason) {
		survey.Failure = &plan.Failure{Reason: gate.Ready.Reason, Message: strings.TrimPrefix(gate.Ready.Message, crd.Name+": ")}
	}
	if crd.Objects == nil {
		return survey
	}
	survey.At = s.TakenAt
	for _, v := range crd.Versions {
		if crd.Objects.OwnedAt[v.Name] == 0 && !v.Storage {
			survey.Versions = append(survey.Versions, v.Name)
		}
	}
	return survey
}

// walking is the walk that the condition reports, nil if it reports none.
func walking(subject plan.Subject, c Condition) *plan.Walking {
	progress, _ := v1alpha1.ParseProgress(c.Message)
	switch c.Reason {
	case v1alpha1.ReasonMigrating:
		return &plan.Walking{Subject: subject, Mode: plan.Rewriting, Counts: counts(progress)}
	case v1alpha1.ReasonVerifying:
		return &plan.Walking{Subject: subject, Mode: plan.Checking, Counts: counts(progress)}
	default:
		return nil
	}
}

func counts(p v1alpha1.Progress) plan.Counts {
	return plan.Counts{Total: p.Total, Current: p.Done - p.Failed, Failed: p.Failed, Rate: p.Rate}
}

// sentence is a message without the generation in front.
func sentence(c Condition) string {
	_, sentence, _ := strings.Cut(c.Message, ": ")
	return sentence
}

// writers are the field managers as the controller names them.
func (c *CRD) writers() []plan.Writer {
	if c.Objects == nil {
		return nil
	}
	return words.Of(c.Objects.Writers, func(w Writer) plan.Writer {
		return plan.Writer{Manager: w.words(), Version: w.Version, Objects: w.Objects, Last: w.Last, LastWrote: w.example()}
	})
}

// words are "kubectl (Update)" or "widget-operator (Update of status)".
func (w Writer) words() string {
	if w.Subresource != "" {
		return fmt.Sprintf("%s (%s of %s)", w.Manager, w.Operation, w.Subresource)
	}
	return fmt.Sprintf("%s (%s)", w.Manager, w.Operation)
}

func (w Writer) example() string {
	return cmp.Or(w.Example, "an object")
}
