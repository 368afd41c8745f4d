package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/plan"
)

// maxDisclosed is how many failures a status has room for.
const maxDisclosed = 20

// Disclose is the part of a status for readers of one namespace. It has objects of that namespace by name, all others
// as counts, and nothing that the API server has said of them. What is judged by it can tell no more. The whole is for
// those who may read the CRD: in its condition, in its Events, and in `moult status`.
func Disclose(s plan.MigrationStatus, namespace string) plan.MigrationStatus {
	if t := s.Evidence.Failure; t != nil {
		public := public(*t)
		if s.Decision.Sentence == t.Message {
			s.Decision.Sentence = public.Message
		}
		s.Evidence.Failure = &public
	}
	if t := s.Evidence.Survey.Failure; t != nil {
		public := public(*t)
		s.Evidence.Survey.Failure = &public
	}
	s.FailedObjects = failuresIn(s, namespace)
	s.Writers = slices.Clone(s.Writers)
	for i := range s.Writers {
		if w := &s.Writers[i]; !liesIn(w.LastWrote, namespace) {
			w.LastWrote = "one of another namespace"
		}
	}
	s.Losses = slices.Clone(s.Losses)
	for i := range s.Losses {
		if l := &s.Losses[i]; !liesIn(l.Object, namespace) {
			l.Field, l.Object, l.Why = "a field", "an object of another namespace", "an Event on the CRD has the reason"
		}
	}
	return s
}

// liesIn reports whether an object, as namespace/name, lies in a namespace.
func liesIn(object, namespace string) bool {
	of, _, namespaced := strings.Cut(object, "/")
	return namespaced && of == namespace
}

// public is a failure without names and quotations.
func public(t plan.Failure) plan.Failure {
	if t.Public == "" {
		t.Public = "held up by " + t.Reason
	}
	t.Message = t.Public + "; the CRD's condition and Events have the details"
	return t
}

// failuresIn are the failures of one namespace, and how many more there are of each
// reason: of other namespaces, or too many to be named.
func failuresIn(s plan.MigrationStatus, namespace string) (failures []plan.FailedObject) {
	more := map[string]int64{}
	maps.Copy(more, s.FailedBy)
	for _, f := range s.FailedObjects {
		if f.Namespace == namespace && namespace != "" {
			failures = append(failures, f)
			more[f.Reason]--
		}
	}
	var counted []plan.FailedObject
	for _, reason := range slices.Sorted(maps.Keys(more)) {
		if more[reason] > 0 {
			counted = append(counted, plan.FailedObject{Reason: reason, Text: fmt.Sprintf("%s of other namespaces, or too many to name: %s", objects(more[reason]), reason)})
		}
	}
	counted = counted[:min(len(counted), maxDisclosed/2)]
	return append(failures[:min(len(failures), maxDisclosed-len(counted))], counted...)
}

func objects(n int64) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
