package refusal

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// notDeclared is what a server-side apply says of a field that no type has.
const notDeclared = "field not declared in schema"

// Undeclared are the fields that change.DecodeStrictly has left out of head, as what the API server refuses: a server-side
// apply, which is Flux's way, takes no field that the types of the API do not declare, and neither does an apply with
// strict validation, which is kubectl's and Argo CD's default. Was are those left out of base, which may be nil. An API
// server of another release may know more of them, or fewer.
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
	var found []Refusal
	for _, path := range paths {
		found = append(found, refusalAt(crd, path, notDeclared))
	}
	slices.SortFunc(found, func(a, b Refusal) int { return strings.Compare(a.Path, b.Path) })
	return found
}
