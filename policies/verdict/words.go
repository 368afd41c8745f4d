package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// held is the verdict while the migration, or the survey after it, is at work or
// cannot get on.
func (s Situation) held(reason, sentence string) Verdict {
	v := Verdict{State: Progressing, Reason: reason, Message: s.Removal.CRDName + ": " + sentence, Progress: progressOf(s.Migration)}
	action := actions[reason]
	switch reason {
	case v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonRepairingOwnership:
		return v
	case v1alpha1.ReasonObjectsFailed:
		v.Blockers = failures(s.Migration.FailedObjects)
	case v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonFieldsWouldBeLost:
		v.State, action = Stalled, action+"; "+withoutGate
	}
	if len(v.Blockers) == 0 {
		v.Blockers = []v1alpha1.Blocker{{Kind: reason, Message: v.Message, Action: action}}
	}
	return v
}

// actions are what a person has to do about a migration that is held up. A reason
// that is not here passes by itself.
var actions = map[string]string{
	v1alpha1.ReasonObjectsFailed:           "make the objects acceptable, or whatever refuses them; they are tried again by themselves",
	v1alpha1.ReasonPaused:                  "remove the annotation " + v1alpha1.PausedAnnotation + " from the CRD",
	v1alpha1.ReasonUndone:                  "make the two agree: have the one that sets it back set what is wanted, or leave the CRD as it is",
	v1alpha1.ReasonNotEstablished:          "look at the CRD's conditions NamesAccepted and Established; where a built-in resource has its name, take the opt-in label off the CRD",
	v1alpha1.ReasonStorageVersionNotServed: "set served: true on the storage version in the CRD's manifest",
	v1alpha1.ReasonFieldsWouldBeLost:       "at once, flip back or make the storage version keep the fields, since other clients' writes lose them; or let them go with the annotation " + v1alpha1.AllowFieldLossAnnotation + " in the CRD's manifest",
	v1alpha1.ReasonForbidden:               "add the rule to a ClusterRole bound to Moult, or let it pass the policy",
	v1alpha1.ReasonAggregatedAPIServer:     "delete the APIService, or take the opt-in label off the CRD if the aggregated API server is to stay",
	v1alpha1.ReasonConversionUnavailable:   "bring the conversion webhook up, or fix spec.conversion.webhook in the CRD's manifest",
}

// withoutGate is the way of a commit that a VersionRemoval waits for: in Git it comes before the VersionRemoval.
const withoutGate = "in the same commit take the VersionRemoval out, since it holds back the commit that it waits for, and add it again in a later one"

// howToOptIn is what to do about a CRD without the label.
func (s Situation) howToOptIn() string {
	how := "add the label to the CRD's manifest in Git"
	if s.LabelKey == v1alpha1.MigrateLabel {
		how += "; in a kustomization, this line under components: does it: - https://github.com/moult-dev/moult//clusters/components/opt-in"
	}
	return how
}

func ready(reason, message string) Verdict {
	return Verdict{State: Ready, Reason: reason, Message: message}
}

func progressing(reason, message, action string) Verdict {
	return Verdict{State: Progressing, Reason: reason, Message: sentence(message, action), Blockers: blocker(reason, message, action)}
}

// MayNotApprove is the answer in place of another one that could not be written to the CRD, since that was refused. It keeps what
// the other one says.
func MayNotApprove(v Verdict, err error, until time.Time) Verdict {
	refused := progressing(v1alpha1.ReasonForbidden, fmt.Sprintf("the condition %s may not be written to the CRD: %s", v1alpha1.VersionsRemovable, words.Clip(err.Error(), words.MostQuoted)), actions[v1alpha1.ReasonForbidden])
	refused.Message += fmt.Sprintf(". The answer would be %s: %s", v.Reason, v.Message)
	refused.Rule, refused.Blockers, refused.Progress, refused.StoredAt = "NotApproved", append(refused.Blockers, v.Blockers...), v.Progress, v.StoredAt
	refused.Warnings, refused.SurveyFrom, refused.LookFrom, refused.LastWrite, refused.Until = v.Warnings, v.SurveyFrom, v.LookFrom, v.LastWrite, until
	return refused
}

func stalled(reason, message, action string) Verdict {
	return Verdict{State: Stalled, Reason: reason, Message: sentence(message, action), Blockers: blocker(reason, message, action)}
}

// sentence joins what is the case and what to do, because a GitOps tool shows
// nothing but the condition's message.
func sentence(message, action string) string {
	if action == "" {
		return message
	}
	return message + ". To do: " + action
}

func blocker(kind, message, action string) []v1alpha1.Blocker {
	if action == "" {
		return nil
	}
	return []v1alpha1.Blocker{{Kind: kind, Message: message, Action: action}}
}

func failures(named []plan.FailedObject) (blockers []v1alpha1.Blocker) {
	for _, f := range named {
		action := "make the object acceptable, or whatever refuses it; it is tried again by itself"
		switch {
		case f.Reason == plan.Unreadable && f.Namespace == "": // only counted, so the reason is not here
			action = "do what the message of the CRD's condition " + v1alpha1.StorageMigrated + " says"
		case f.Reason == plan.Unreadable:
			action = plan.Remedy(f.Text)
		}
		blockers = append(blockers, v1alpha1.Blocker{Kind: v1alpha1.ReasonObjectsFailed, Message: f.Text, Action: action})
	}
	return blockers
}

func servedBlocker(s Situation) v1alpha1.Blocker {
	return v1alpha1.Blocker{Kind: v1alpha1.ReasonStillServed,
		Message: fmt.Sprintf("%s is still served by the CRD %s, so clients may be using it", list(s.served()), s.Removal.CRDName),
		Action:  fmt.Sprintf("commit served: false on %s first and see whether anyone complains", list(s.served()))}
}

// maxWarnings is how many a status names.
const maxWarnings = 20

// warnOfLabelOrigin puts first that the opt-in label may go before the versions do.
func (s Situation) warnOfLabelOrigin(warnings []v1alpha1.Blocker) []v1alpha1.Blocker {
	if s.CRD == nil || s.CRD.LabelOrigin.Origin != labelorigin.LiveOnly {
		return warnings
	}
	warning := v1alpha1.Blocker{Kind: v1alpha1.EventOptInNotInGit,
		Message: fmt.Sprintf("the opt-in label %s of %s is %s", s.LabelKey, s.Removal.CRDName, s.CRD.LabelOrigin), Action: s.howToOptIn()}
	warnings = append([]v1alpha1.Blocker{warning}, warnings...)
	return warnings[:min(len(warnings), maxWarnings)]
}

// maxWriters bounds the writers a status names.
const maxWriters = 19

// writers are those who wrote at the versions within the quiet period.
func writers(s Situation) (recent []v1alpha1.Blocker) {
	if s.Migration == nil {
		return nil
	}
	for _, w := range s.Migration.Writers {
		if !slices.Contains(s.Removal.Versions, w.Version) || !w.Last.After(s.Now.Add(-s.Removal.QuietPeriod.Duration)) || len(recent) == maxWriters {
			continue
		}
		recent = append(recent, v1alpha1.Blocker{Kind: v1alpha1.ReasonStillWritten,
			Message: fmt.Sprintf("field manager %s wrote %d objects at %s, last %s at %s", w.Manager, w.Objects, w.Version, w.LastWrote, w.Last.UTC().Format(time.RFC3339)),
			Action:  fmt.Sprintf("let %s write at %s", client(w.Manager), s.CRD.StorageVersion)})
	}
	return recent
}

// written says when objects were written last. If nothing shows who did, that may be when a walk was cut off that could have seen it.
func (s Situation) written(and string) string {
	were, who := "were", " (see blockers for who)"
	if len(writers(s)) == 0 {
		were, who = "may have been", ""
	}
	return fmt.Sprintf("objects of %s %s written at %s at %s%s%s", s.Removal.CRDName, were, list(s.Removal.Versions), s.lastWrite().UTC().Format(time.RFC3339), and, who)
}

// client is a field manager without how it writes: "widget-operator (Update of status)" is widget-operator.
func client(manager string) string {
	name, _, _ := strings.Cut(manager, " (")
	return name
}

func progressOf(s *plan.MigrationStatus) *v1alpha1.Progress {
	if s.Walking != nil && s.Walking.Counts.Total > 0 {
		return toProgress(s.Walking.Counts)
	}
	return toProgress(s.Evidence.Last)
}

func toProgress(c plan.Counts) *v1alpha1.Progress {
	if c.Total == 0 {
		return nil
	}
	p := c.Progress()
	return &p
}

// list names some versions only. A VersionRemoval may name 32, and every message that lists them is kept in memory.
func list(versions []string) string { return words.Few(versions, 5) }
