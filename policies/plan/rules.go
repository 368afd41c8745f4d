package plan

import (
	"fmt"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// rule is one line of the specification: a name that reads as what is the
// case, and the decision that follows if it is.
type rule struct {
	name   string
	decide func(Observation) (Decision, bool)
}

// rules are asked in this order and the first that holds decides. From top to
// bottom: may we touch this CRD at all, can anything work now, is it done
// already, and only then what the next piece of work is.
var rules = []rule{
	{"CRDIsGone", crdIsGone},
	{"NotOptedIn", notOptedIn},
	{"GroupOutOfScope", groupOutOfScope},
	{"Paused", paused},
	{"Undone", undone},
	{"InTreeMigratorAtWork", inTreeMigratorAtWork},
	{"NotEstablished", notEstablished},
	{"StorageVersionNotServed", storageVersionNotServed},
	{"BackingOff", backingOff},
	{"ProvedNotTrimmed", provedNotTrimmed},
	{"WalkUnderWay", walkUnderWay},
	{"NotSurveyed", notSurveyed},
	{"Proved", proved},
	{"ShapeIsNew", shapeIsNew},
	{"NotRewritten", notRewritten},
	{"WindowOpen", windowOpen},
	{"NotChecked", notChecked},
}

// Decide asks the rules in order. The last rule always holds.
func Decide(o Observation) Decision {
	for _, r := range rules {
		if d, ok := r.decide(o); ok {
			d.Rule = r.name
			return o.InTree.besides(d, o.Now)
		}
	}
	panic("plan: the last rule must always hold")
}

// crdIsGone: there is nothing to migrate any more; the API server deletes the
// objects together with their CRD.
func crdIsGone(o Observation) (Decision, bool) {
	return Decision{Step: Forget}, !o.Present
}

// notOptedIn: without the label we may not write, except to take back what we
// said while it was there.
func notOptedIn(o Observation) (Decision, bool) {
	return Decision{Step: Withdraw}, !o.OptedIn
}

// groupOutOfScope: labelled, but another controller's to look after.
func groupOutOfScope(o Observation) (Decision, bool) {
	return Decision{Step: Leave}, !o.InScope
}

// paused: a person has set the annotation.
func paused(o Observation) (Decision, bool) {
	return hold(v1alpha1.ReasonPaused,
		"paused; remove the annotation %s to go on", v1alpha1.PausedAnnotation), o.Paused
}

// inTreeMigratorAtWork: two migrators would only undo each other's proofs. One that has failed, was deleted or makes no progress is
// not waited for.
func inTreeMigratorAtWork(o Observation) (Decision, bool) {
	d := hold(v1alpha1.ReasonStandingBack,
		"the in-tree migrator is at work (condition %s is True); standing back until it has ended", v1alpha1.StorageMigrating)
	d.Until = o.Now.Add(inTreeLook)
	return d, o.InTree.Running && o.InTree.over(o.Now) == ""
}

// notEstablished: the API server serves no endpoint to write to.
func notEstablished(o Observation) (Decision, bool) {
	return hold(v1alpha1.ReasonNotEstablished,
		"the API server does not serve this CRD; look at its conditions NamesAccepted and Established"), !o.Established
}

// storageVersionNotServed: a write at another version would convert the object
// once more than necessary and its ownership with it, so we wait for the
// manifest to change.
func storageVersionNotServed(o Observation) (Decision, bool) {
	return hold(v1alpha1.ReasonStorageVersionNotServed,
		"the storage version %[1]s is not served, so objects cannot be rewritten at it; set served: true on version %[1]s in the CRD's manifest", o.StorageVersion), !o.Served
}

// backingOff: the last attempt failed and its pause is not over.
func backingOff(o Observation) (Decision, bool) {
	t := o.Evidence.Failure
	if t == nil || !o.Now.Before(o.Evidence.RetryAt) {
		return Decision{}, false
	}
	return Decision{Step: Wait, Reason: t.Reason, Sentence: t.Message, Until: o.Evidence.RetryAt}, true
}

// provedNotTrimmed: the bytes are right, only the list still names old versions.
func provedNotTrimmed(o Observation) (Decision, bool) {
	return migrated(Trim, o), o.Evidence.Proved && !o.Clean()
}

// walkUnderWay: tell how far it is. A survey is the removal's business: what the
// CRD says of its storage stays true meanwhile.
func walkUnderWay(o Observation) (Decision, bool) {
	switch {
	case o.Walking == nil || o.Walking.Subject != o.Subject || !o.Walking.isAllowed(o) || o.Walking.hasLostItsGround(o):
		return Decision{}, false
	case o.Walking.Mode == Surveying:
		return migrated(Follow, o), true
	default:
		return working(Follow, o.Walking.Mode, o), true
	}
}

// notSurveyed: versions are to go, and no survey has looked yet, or lately enough,
// whose managedFields name them.
func notSurveyed(o Observation) (Decision, bool) {
	at, due := o.nextSurvey()
	return migrated(Survey, o), o.Evidence.Proved && due && !o.Now.Before(at)
}

// proved: done. If managedFields are to be looked through again, it is in their time.
func proved(o Observation) (Decision, bool) {
	d := migrated(Rest, o)
	d.Until, _ = o.nextSurvey()
	return d, o.Evidence.Proved
}

// nextSurvey is when managedFields may be looked through again, false if they need not be. A survey writes objects, too.
func (o Observation) nextSurvey() (at time.Time, due bool) {
	if at, due = o.Evidence.Survey.due(o.Removal); due && at.Before(o.Evidence.Shape.Until) {
		at = o.Evidence.Shape.Until
	}
	return at, due
}

// shapeIsNew: an API server that lags would drop what an earlier schema does not have, and what an earlier conversion
// loses. Without a rewriting walk, the window of the check is no shorter.
func shapeIsNew(o Observation) (Decision, bool) {
	return Decision{
		Step: Wait, Reason: v1alpha1.ReasonSettling, Until: o.Evidence.Shape.Until,
		Sentence: "waiting until every API server goes by the schemas and the conversion that the CRD has now, before any object is rewritten" + o.Evidence.edited(),
	}, !o.Evidence.Rewritten && !o.Clean() && o.Now.Before(o.Evidence.Shape.Until)
}

// notRewritten: start early, while the settle time runs. A CRD that is clean
// already is only checked, later: rewriting it would most likely be for nothing.
func notRewritten(o Observation) (Decision, bool) {
	return working(Rewrite, Rewriting, o), !o.Evidence.Rewritten && !o.Clean()
}

// rewritten is in the sentence of a settle time that begins, or goes on, after all objects are rewritten.
const rewritten = "; rewritten"

// windowOpen: a write may still land at an older version, or an API server hand a request on to an aggregated one.
func windowOpen(o Observation) (Decision, bool) {
	until := later(o.Evidence.WindowEnd, o.Evidence.Shape.Until)
	d := Decision{
		Step: Wait, Reason: v1alpha1.ReasonSettling, Until: until,
		Sentence: fmt.Sprintf("waiting until no API server can still write at a version older than %s, before every object is checked", o.StorageVersion),
	}
	if o.Evidence.Rewritten {
		d.Sentence += rewritten
	}
	if o.Evidence.Altered != "" {
		d.Sentence += "; once more, since " + o.Evidence.Altered
	}
	d.Sentence += o.Evidence.edited()
	return d.counting(o.Evidence.Last), o.Now.Before(until)
}

// manyEdits is from how many changes of the spec on a person should look who makes them.
const manyEdits = 3

// edited names changes that follow one another faster than they are proved, so that nothing is ever finished.
func (e Evidence) edited() string {
	if e.Edits < manyEdits {
		return ""
	}
	return fmt.Sprintf("; its spec has been changed %d times meanwhile, and each change has this begin anew: see who changes it in its managedFields (kubectl get crd NAME -o yaml --show-managed-fields)", e.Edits)
}

// notChecked: the proof.
func notChecked(o Observation) (Decision, bool) {
	return working(Check, Checking, o), true
}

func hold(reason, format string, args ...any) Decision {
	return Decision{Step: Hold, Reason: reason, Sentence: fmt.Sprintf(format, args...)}
}

func migrated(step Step, o Observation) Decision {
	d := Decision{Step: step, Reason: v1alpha1.ReasonMigrated,
		Sentence: v1alpha1.Proved(o.StorageVersion, o.Evidence.Settle)}
	return d.counting(o.Evidence.Last)
}

// working speaks of a walk that starts or is under way. A walk that repeats a
// failed one goes on telling the failure, so that the condition does not flap
// between failure and hope.
func working(step Step, mode Mode, o Observation) Decision {
	if t := o.Evidence.Failure; t != nil {
		return Decision{Step: step, Reason: t.Reason, Sentence: t.Message}
	}
	d := Decision{Step: step, Reason: v1alpha1.ReasonMigrating, Sentence: "rewriting objects at " + o.StorageVersion}
	if mode == Checking {
		d.Reason, d.Sentence = v1alpha1.ReasonVerifying, "checking that every object is stored at "+o.StorageVersion
	}
	if step == Follow {
		if d.Looking = o.Walking.Looking; d.Looking {
			d.Sentence = "looking at every object first, for fields that it would lose at " + o.StorageVersion
		}
		d = d.counting(o.Walking.Counts)
	}
	return d
}

// counting adds the counts to the sentence once there is something to count.
func (d Decision) counting(c Counts) Decision {
	if c.Total > 0 {
		d.Sentence += ": " + c.Progress().String()
	}
	return d
}
