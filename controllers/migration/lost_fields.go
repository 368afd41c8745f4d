package migration

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// maxFieldLosses is how many fields are counted; where anything may be a field, there may be any number, and so there may of versions.
const maxFieldLosses = 100

// count adds an object to those that lose a field.
func (f *fields) count(losses []rewrite.FieldLoss, version, field string, object map[string]any) []rewrite.FieldLoss {
	allowed := f.may(version, field)
	field = words.Clip(field, words.MostQuoted)
	at := slices.IndexFunc(losses, func(l rewrite.FieldLoss) bool { return l.Field == field && l.Allowed == allowed }) // two that are clipped may look alike
	switch {
	case at >= 0:
		losses[at].Objects++
	case len(losses) < maxFieldLosses || !allowed && !slices.ContainsFunc(losses, held):
		meta := unstructured.Unstructured{Object: object}
		losses = append(losses, rewrite.FieldLoss{Field: field, Version: version, Objects: 1, Allowed: allowed,
			Object: types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetName()}})
	}
	return losses
}

// most are as many as are counted of all versions, and one that is held if any is.
func most(losses []rewrite.FieldLoss) []rewrite.FieldLoss {
	if len(losses) <= maxFieldLosses {
		return losses
	}
	kept := slices.Clone(losses[:maxFieldLosses])
	if first := slices.IndexFunc(losses, held); first >= maxFieldLosses {
		kept[maxFieldLosses-1] = losses[first]
	}
	return kept
}

func held(l rewrite.FieldLoss) bool { return !l.Allowed }

// maxFieldsTold is how many fields a sentence names.
const maxFieldsTold = 10

// failure is why nothing is rewritten; nil if no object loses what it may not, and all could be seen.
func (f *fields) failure() *plan.Failure {
	var counts, examples, names, problems []string
	for _, l := range f.losses {
		if l.Allowed {
			continue
		}
		counts = append(counts, fmt.Sprintf("%s (%s at %s)", l.Field, words.Count(l.Objects, "object"), l.Version))
		examples = append(examples, fmt.Sprintf("%s has %s", nameOf(l), l.Field))
		names = append(names, l.Field)
	}
	if len(counts) > 0 {
		problems = append(problems, f.why+": "+words.Few(counts, maxFieldsTold))
	}
	for _, u := range f.unseen {
		if len(u.fields) == 0 {
			problems = append(problems, fmt.Sprintf("objects may be stored at %s, which is not served, so it cannot be seen what the conversion webhook would lose of them. Serve it until they are rewritten, or run Moult without --rehearse", u.version))
			continue
		}
		problems = append(problems, fmt.Sprintf("objects may be stored at %s, which is not served, so it cannot be seen whether they have fields that %s does not have: %s. Serve %[1]s until they are rewritten",
			u.version, f.storage, words.Few(u.fields, maxFieldsTold)))
		names = append(names, u.fields...)
	}
	hidden, more := f.hiddenProblems()
	problems, examples = append(problems, hidden...), append(examples, more...)
	for _, l := range f.hidden {
		names = append(names, l.Field)
	}
	if len(problems) == 0 {
		return nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	public := strings.Join(problems, ". And ") + ". Nothing is rewritten"
	if len(names) > 0 {
		public += fmt.Sprintf(". Other clients' writes lose them now: flip back, or make %s keep them. To let them go: annotation %s: %q on the CRD",
			f.storage, v1alpha1.AllowFieldLossAnnotation, strings.Join(words.Distinct(names), ","))
		if err := crdschema.Check(f.mayDrop); err != nil {
			public += ". The annotation has one that allows nothing: " + err.Error()
		}
	}
	if len(examples) == 0 {
		return failure(v1alpha1.ReasonFieldsWouldBeLost, public, "")
	}
	return failure(v1alpha1.ReasonFieldsWouldBeLost, public, ". For example, %s", words.Few(examples, maxFieldsTold))
}

// tellOfFields says which fields objects lose because they may.
func (r *Reconciler) tellOfFields(crd *apiextensionsv1.CustomResourceDefinition, storageVersion string, losses []rewrite.FieldLoss) {
	for _, l := range losses[:min(len(losses), maxLossesTold)] {
		if l.Allowed {
			r.event(crd, v1alpha1.EventFieldsDropped, "%s", l.Message(storageVersion))
		}
	}
}
