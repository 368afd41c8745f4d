package refusal

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moult-dev/moult/policies/words"
)

// setByServer are fields of metadata that a manifest has from a cluster, and that a server-side apply does not take. It
// never takes managedFields (k8s.io/apimachinery/pkg/util/managedfields). It takes a uid or a resourceVersion only if
// it is that of the object as it is, which cannot stay so in a file. A resourceVersion is passed over when the object
// is new. What they say is not repeated, so that the same field of another state of the CRD is the same fault.
func setByServer(crd *apiextensionsv1.CustomResourceDefinition, isNew bool) field.ErrorList {
	var errs field.ErrorList
	metadata := field.NewPath("metadata")
	if len(crd.ManagedFields) > 0 {
		errs = append(errs, field.Forbidden(metadata.Child("managedFields"), "must be nil in what is applied"))
	}
	if crd.UID != "" {
		errs = append(errs, field.Forbidden(metadata.Child("uid"), "the API server sets it, and takes no other than its own"))
	}
	if crd.ResourceVersion != "" && !isNew {
		errs = append(errs, field.Forbidden(metadata.Child("resourceVersion"), "the API server sets it with every write, and takes no other than the last one"))
	}
	return errs
}

// Same reports whether head says nothing that base did not, so that there is nothing to refuse. What tools write into
// the rest of metadata is no concern of the API server's rules.
func Same(base, head *apiextensionsv1.CustomResourceDefinition) bool {
	same := equality.Semantic.DeepEqual
	return same(base.Spec, head.Spec) && same(base.Labels, head.Labels) && same(base.Annotations, head.Annotations) &&
		same(base.OwnerReferences, head.OwnerReferences) && same(base.Finalizers, head.Finalizers) &&
		same(setByServer(base, false), setByServer(head, false))
}

// notDeclared is what a server-side apply says of a field that no type has.
const notDeclared = "field not declared in schema"

// Undeclared are the fields that change.DecodeStrictly has left out of head, as what the API server refuses. A
// server-side apply, which is Flux's way, refuses fields that the types of the API do not declare. So does an apply
// with strict validation, which is kubectl's and Argo CD's default. Was are those left out of base, which may be nil.
// An API server of another release may know more of them, or fewer.
func Undeclared(base, head *apiextensionsv1.CustomResourceDefinition, was, is []string) []Refusal {
	found := undeclared(head, is)
	if base == nil {
		return found
	}
	var known []fault
	for _, r := range undeclared(base, was) {
		known = append(known, r.in(base)...)
	}
	return marked(found, head, known)
}

func undeclared(crd *apiextensionsv1.CustomResourceDefinition, paths []string) []Refusal {
	found := words.Of(paths, func(path string) Refusal { return refusalAt(crd, path, notDeclared) })
	slices.SortFunc(found, func(a, b Refusal) int { return strings.Compare(a.Path, b.Path) })
	return found
}
