package migration

import (
	"slices"
	"time"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// What a walk has found, in the words of the plan: it names field managers and objects
// as people do.

// outcomeOf says how a walk ended.
func outcomeOf(w *walking, started time.Time, result rewrite.Result, err error) plan.Outcome {
	return plan.Outcome{
		Mode: w.mode, Counts: countsOf(result), ListedRV: result.ListedRV, Failure: failureOf(w.crd, result, err),
		Leaving: w.observed.Removal.Versions, Started: started, Quiet: w.observed.Removal.Quiet, Waiting: waitingOf(result), MayLose: w.observed.MayLose,
	}
}

func countsOf(r rewrite.Result) plan.Counts {
	return plan.Counts{
		Total:     r.Total,
		Rewritten: r.By[rewrite.Rewritten],
		Current:   r.By[rewrite.Current] + r.By[rewrite.Overtaken] + r.By[rewrite.Altered] + r.By[rewrite.Repaired],
		Gone:      r.By[rewrite.Gone],
		Failed:    r.By[rewrite.Failed],
	}
}

func failedObjectsOf(failed []rewrite.FailedObject) []plan.FailedObject {
	return words.Of(failed, func(f rewrite.FailedObject) plan.FailedObject {
		return plan.FailedObject{Namespace: f.Namespace, Reason: f.Reason, Text: words.Clip(f.String(), maxFailureText)}
	})
}

func textsOf(failed []plan.FailedObject) []string {
	return words.Of(failed, func(f plan.FailedObject) string { return f.Text })
}

// waitingOf are the versions that entries of managedFields were left at.
func waitingOf(r rewrite.Result) (versions []string) {
	for _, l := range r.Losses {
		if version := l.Manager.Version; l.Waits && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	return versions
}

func lossesOf(r rewrite.Result) []plan.Loss {
	return words.Of(r.Losses, func(l rewrite.Loss) plan.Loss {
		return plan.Loss{
			Manager: l.Manager.String(), Version: l.Manager.Version, Waits: l.Waits,
			Objects: l.Objects, Fields: l.Fields, Field: l.Field, Object: l.Object.String(), Why: l.Why,
		}
	})
}

func writersOf(r rewrite.Result) []plan.Writer {
	return words.Of(r.Writers, func(w rewrite.Writer) plan.Writer {
		return plan.Writer{Manager: w.Manager.String(), Version: w.Manager.Version, Objects: w.Objects, Last: w.Last, LastWrote: w.Object.String()}
	})
}
