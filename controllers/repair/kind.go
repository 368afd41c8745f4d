package repair

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/words"
)

// kind is a kind of what outlives a version, and how it is repaired.
type kind interface {
	// wanted reports whether a CRD asks for it.
	wanted(crd metav1.Object) bool
	// repair looks at everything, does what can be done for some CRDs, and returns what it has found for each. It ends early with ctx.
	repair(ctx context.Context, subjects []subject) map[string]finding
}

// finding is what a repair has found for one CRD.
type finding struct {
	repairs.Report

	// err: not all was looked at.
	err error
}

// stopped is true if it was not wanted any more, or the process ends.
func (f finding) stopped() bool { return errors.Is(f.err, context.Canceled) }

// outcome is never better than what was seen.
func (f finding) outcome() outcome {
	switch {
	case f.err != nil, f.Verdict() != repairs.Done:
		return unfinished
	case f.Moved > 0, f.Returned > 0:
		return moved
	default:
		return none
	}
}

// known reports whether all was looked at.
func (f finding) known() bool { return f.err == nil && !f.Unfinished && len(f.NotLooked) == 0 }

// inEvents is how a kind is put into Events: their reasons, and what only this kind has to say.
type inEvents struct {
	*repairs.Kind

	moved, returned, left, unknown string
	movedText, returnedText        func(s subject, f finding) string
}

// saying is one Event.
type saying struct {
	reason, text string
	// normal: no person has to do anything.
	normal bool
}

// maxNamed is how many of each sort an Event names.
const maxNamed = 3

// sayings are what there is to say: nothing if nothing was found, and all was looked at.
func (e *inEvents) sayings(s subject, f finding) (all []saying) {
	if f.Moved > 0 {
		all = append(all, saying{e.moved, e.movedText(s, f), true})
	}
	if f.Returned > 0 {
		all = append(all, saying{e.returned, e.returnedText(s, f), false})
	}
	if f.stopped() {
		return all // and it begins anew, if it is still wanted
	}
	if len(f.Left) > 0 {
		all = append(all, e.leftSaying(f))
	}
	if text := e.Unknown(&f.Report, f.err, maxNamed); text != "" {
		all = append(all, saying{e.unknown, text, false})
	}
	return all
}

// leftSaying names each reason with objects and what to do. It is no warning if no person has to do anything.
func (e *inEvents) leftSaying(f finding) saying {
	clauses, normal := make([]string, 0, len(f.Left)), true
	for i := range f.Left {
		normal = normal && e.Words(f.Left[i].Reason).Passes
		clauses = append(clauses, e.Clause(&f.Left[i], maxNamed))
	}
	n := f.LeftCount()
	return saying{e.left, e.Count(n) + " " + words.Agree(n, "is", "are") + " left, and tried again: " + strings.Join(clauses, "; "), normal}
}
