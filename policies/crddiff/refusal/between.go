package refusal

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// Upgrade is what an API server would refuse about head in a cluster that has base, fields that cannot be changed among it.
// Of storedVersions it holds nothing: what they name depends on the cluster.
func Upgrade(base, head *apiextensionsv1.CustomResourceDefinition) []Refusal {
	found := onto(base, head, nil)
	return marked(found, head, faults(base))
}

// Back is what an API server would refuse about base in a cluster that had it first and got head then: its storedVersions name
// the storage versions of both. What would be refused about a new base, too, is left out.
func Back(base, head *apiextensionsv1.CustomResourceDefinition) []Refusal {
	var stored []string
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{base, head} {
		for _, v := range crd.Spec.Versions {
			if v.Storage {
				stored = append(stored, v.Name)
			}
		}
	}
	known := faults(base)
	return slices.DeleteFunc(onto(head, base, stored), func(r Refusal) bool {
		return !slices.ContainsFunc(r.in(base), func(f fault) bool { return !slices.Contains(known, f) })
	})
}

// onto is what an API server refuses about a CRD that is applied over another one.
func onto(there, applied *apiextensionsv1.CustomResourceDefinition, stored []string) []Refusal {
	was, errs := internal(there)
	if errs != nil {
		return nil // no API server has it
	}
	is, errs := internal(applied)
	if errs != nil {
		return refusals(applied, errs)
	}
	update := established(is)
	for _, version := range stored {
		if !slices.Contains(update.Status.StoredVersions, version) {
			update.Status.StoredVersions = append(update.Status.StoredVersions, version)
		}
	}
	return refusals(applied, validation.ValidateCustomResourceDefinitionUpdate(context.Background(), update, established(was)))
}
