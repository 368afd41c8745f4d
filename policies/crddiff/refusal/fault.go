package refusal

import (
	"context"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// fault is a refusal that can be recognized in another state of the CRD, where versions have other places.
type fault struct{ version, path, said string }

// faults are what the API server would refuse if the CRD were new, and of what it sets itself, if it were there.
func faults(crd *apiextensionsv1.CustomResourceDefinition) []fault {
	was, errs := internal(crd)
	if errs == nil {
		errs = validation.ValidateCustomResourceDefinition(context.Background(), was)
	}
	var all []fault
	for _, r := range refusals(crd, notSaidElsewhere(append(errs, setByServer(crd, false)...))) {
		all = append(all, r.in(crd)...)
	}
	return all
}

// in are the faults that a refusal stands for: one, or where all versions have one schema, one for each.
func (r Refusal) in(crd *apiextensionsv1.CustomResourceDefinition) []fault {
	if _, rest, within := index(r.Path); within {
		return []fault{{r.Version, strings.TrimPrefix(rest, ".schema"), r.Said}}
	}
	for prefix, of := range common {
		if rest, is := strings.CutPrefix(r.Path, prefix); is {
			var all []fault
			for _, v := range crd.Spec.Versions {
				all = append(all, fault{v.Name, of + rest, r.Said})
			}
			return all
		}
	}
	return []fault{{"", r.Path, r.Said}}
}

// common is what the API server says once, for the CRD, where all versions have the same, and how it says it of a version.
var common = map[string]string{
	"spec.validation": "", "spec.subresources": ".subresources", "spec.additionalPrinterColumns": ".additionalPrinterColumns",
	"spec.selectableFields": ".selectableFields",
}

// index cuts spec.versions[2].name into 2 and .name.
func index(path string) (i int, rest string, within bool) {
	number, within := strings.CutPrefix(path, "spec.versions[")
	if !within {
		return 0, "", false
	}
	number, rest, _ = strings.Cut(number, "]")
	i, err := strconv.Atoi(number)
	return i, rest, err == nil
}
