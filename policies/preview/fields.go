package preview

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// weigh is what a change does to the verdict in this cluster, and why. A field that the storage version lacks matters as far as
// objects have it: the migration waits for those (FieldsWouldBeLost), unless the CRD lets the field go.
func (d Delivered) weigh(crd string, c crddiff.Change) (v Verdict, why string, counts bool) {
	v, counts = weigh(c)
	if c.Rule != crddiff.FieldLost || c.Severity != finding.Error {
		return v, inWords(c), counts
	}
	field := strings.ReplaceAll(c.Field, "{*}", ".*")
	at := c.Version + " " + c.Field
	allowed := crdschema.Patterns(annotation(d.Head.crd(crd)))
	switch objects, named, known := d.uses(crd, c.Version, field); {
	case known && objects == 0:
		return Safe, fmt.Sprintf("%s: %s has no such field, and no object has it", at, c.Against), true
	case crdschema.InStatus(field) && d.hasStatus(crd, c.Version):
		return Warned, fmt.Sprintf("%s: %s has no such field, so objects lose it when they are rewritten; the migration does not wait for status", at, c.Against), true
	case crdschema.Allows(allowed, field):
		return Warned, fmt.Sprintf("%s: %s has no such field, and the CRD lets it go (%s)%s", at, c.Against, v1alpha1.AllowFieldLossAnnotation, inUse(objects, named, known)), true
	case known:
		return Blocked, fmt.Sprintf("%s: %s has no such field and nothing converts%s; Moult rewrites nothing before that has changed%s", at, c.Against, inUse(objects, named, known), misspelt(allowed)), true
	}
	return v, inWords(c) + misspelt(allowed), counts
}

// misspelt names a field that the CRD lets go, and that is none.
func misspelt(allowed []string) string {
	if err := crdschema.Check(allowed); err != nil {
		return "; the annotation " + v1alpha1.AllowFieldLossAnnotation + " has one that allows nothing: " + err.Error()
	}
	return ""
}

func (d Delivered) uses(crd, version, field string) (objects int64, named []string, known bool) {
	if d.Snapshot == nil {
		return 0, nil, false
	}
	return d.Snapshot.Uses(crd, version, field)
}

// hasStatus reports whether a version has the status subresource: as the CRD is after the change or, if the version goes, before.
func (d Delivered) hasStatus(name, version string) bool {
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{d.Head.crd(name), d.Base.crd(name)} {
		if crd != nil && crds.Has(crd, version) {
			return crds.HasStatus(crd, version)
		}
	}
	return false
}

func inUse(objects int64, named []string, known bool) string {
	switch {
	case !known:
		return ""
	case len(named) == 0:
		return fmt.Sprintf("; %s %s it", words.Count(objects, "object"), words.Agree(objects, "has", "have"))
	}
	return fmt.Sprintf("; %s %s it, for example %s", words.Count(objects, "object"), words.Agree(objects, "has", "have"), strings.Join(named, ", "))
}

func annotation(crd *apiextensionsv1.CustomResourceDefinition) string {
	if crd == nil {
		return ""
	}
	return crd.Annotations[v1alpha1.AllowFieldLossAnnotation]
}
