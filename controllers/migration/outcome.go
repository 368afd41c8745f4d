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
		Leaving: w.observed.Removal.Versions, Started: started, Waiting: waitingOf(result), MayLose: w.observed.MayLose,
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
	named := make([]plan.FailedObject, len(failed))
	for i, f := range failed {
		named[i] = plan.FailedObject{Namespace: f.Namespace, Reason: f.Reason, Text: words.Clip(f.String(), maxFailureText)}
	}
	return named
}

func textsOf(failed []plan.FailedObject) []string {
	texts := make([]string, len(failed))
	for i, f := range failed {
		texts[i] = f.Text
	}
	return texts
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
	losses := make([]plan.Loss, len(r.Losses))
	for i, l := range r.Losses {
		losses[i] = plan.Loss{
			Manager: l.Manager.String(), Version: l.Manager.Version, Waits: l.Waits,
			Objects: l.Objects, Fields: l.Fields, Field: l.Field, Object: l.Object.String(), Why: l.Why,
		}
	}
	return losses
}

func writersOf(r rewrite.Result) []plan.Writer {
	writers := make([]plan.Writer, len(r.Writers))
	for i, w := range r.Writers {
		writers[i] = plan.Writer{Manager: w.Manager.String(), Version: w.Manager.Version, Objects: w.Objects, Last: w.Last, LastWrote: w.Object.String()}
	}
	return writers
}
