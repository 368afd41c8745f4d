package migration

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// A version may be hidden: it is not served, so objects cannot be read at it, and storedVersions does not name it.
// Until Moult has its own proof, that says nothing of what is stored: the list may have been trimmed after a migration
// that failed. Then only the managedFields of the objects remain to be looked at (docs/decisions/0011).

// named looks for the fields that objects may have at a hidden version, where no webhook converts them.
type named struct {
	*crdschema.Finder
	version string
}

// Lost is a rehearser's.
func (n named) Lost(_ context.Context, objects []map[string]any) (all [][]string, err error) {
	for _, object := range objects {
		fields, err := n.MayHave(object, entriesOf(object), n.version)
		if err != nil {
			return nil, rewrite.StoppedBy(err)
		}
		all = append(all, fields)
	}
	return all, nil
}

// written looks for objects that were written at a hidden version, where a webhook converts them. What it would lose of them
// cannot be asked, so the field has no name.
type written struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	version string
}

// Lost is a rehearser's.
func (w written) Lost(_ context.Context, objects []map[string]any) ([][]string, error) {
	all := make([][]string, len(objects))
	for i, object := range objects {
		if crds.WrittenAt(w.crd, entriesOf(object), w.version) {
			all[i] = []string{""}
		}
	}
	return all, nil
}

func entriesOf(object map[string]any) []metav1.ManagedFieldsEntry {
	return (&unstructured.Unstructured{Object: object}).GetManagedFields()
}

// unproved says why a storedVersions that does not name a version is not believed.
func (r *Reconciler) unproved(crd *apiextensionsv1.CustomResourceDefinition) string {
	list := strings.Join(crd.Status.StoredVersions, " ")
	if by := crds.StoredVersionsBy(crd.ManagedFields); by != "" && by != r.opts.FieldManager {
		return fmt.Sprintf("status.storedVersions was trimmed to [%s] by %s, without a proof", list, by)
	}
	return fmt.Sprintf("status.storedVersions is [%s], which is no proof", list)
}

// hiddenProblems are sentences about each hidden version at which objects may be stored that would lose something, and
// examples of such objects.
func (f *fields) hiddenProblems() (problems, examples []string) {
	counts := map[string][]string{}
	for _, l := range f.hidden {
		counts[l.Version] = append(counts[l.Version], strings.TrimSpace(fmt.Sprintf("%s (%s)", l.Field, words.Count(l.Objects, "object"))))
		if l.Field == "" {
			examples = append(examples, fmt.Sprintf("%s may be stored at %s", nameOf(l), l.Version))
			continue
		}
		examples = append(examples, fmt.Sprintf("%s may have %s", nameOf(l), l.Field))
	}
	for _, s := range f.sights {
		switch found := counts[s.of]; {
		case s.at == s.of || len(found) == 0:
		case isWebhook(s):
			problems = append(problems, fmt.Sprintf("objects may be stored at %s, which is not served, so it cannot be seen what the conversion webhook would lose of them %s: %s. Serve %[1]s until they are rewritten, or run Moult without --rehearse",
				s.of, found[0], f.trimmed))
		default:
			problems = append(problems, fmt.Sprintf("objects may be stored at %s, which is not served, with fields that %s does not have: %s; %s. Serve %[1]s until they are rewritten",
				s.of, f.storage, words.Few(found, maxFieldsTold), f.trimmed))
		}
	}
	return problems, examples
}

func isWebhook(s sight) bool {
	_, webhook := s.rehearser.(written)
	return webhook
}

// nameOf is the object of a loss.
func nameOf(l rewrite.FieldLoss) string { return strings.TrimPrefix(l.Object.String(), "/") }
