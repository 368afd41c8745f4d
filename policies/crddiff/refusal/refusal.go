package refusal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moult-dev/moult/policies/words"
)

// Refusal is one thing that the API server would refuse.
type Refusal struct {
	// Path is the field, as the API server names it, for example spec.versions[0].schema.openAPIV3Schema.type. Where all
	// versions have one schema, the API server calls it spec.validation.openAPIV3Schema.
	Path string
	// Version is the one that the path leads into, empty for the CRD as a whole.
	Version string
	// Said is what the API server says of it, in one line and without the full stop.
	Said string
	// Known: the CRD as it was has the very same fault. Either the API server has taken it by other rules than these, or
	// it has never taken that CRD; in both cases it is not this change that brings it.
	Known bool
}

// Of is what the API server would refuse about head, sorted by path. Base is the CRD as it was; nil if there is none,
// and then head is held to what is asked of a new CRD. What change.Compare reports by a name of its own is left out.
// That is fields that cannot be changed, and a name that is not plural and group, for which preview has a finding.
func Of(base, head *apiextensionsv1.CustomResourceDefinition) []Refusal {
	now, errs := internal(head)
	if errs == nil {
		errs = validated(base, now)
	}
	found := refusals(head, notSaidElsewhere(append(errs, setByServer(head, base == nil)...)))
	if len(found) == 0 || base == nil {
		return found
	}
	return marked(found, head, faults(base))
}

// marked reports which of the refusals the CRD as it was has as well.
func marked(found []Refusal, head *apiextensionsv1.CustomResourceDefinition, known []fault) []Refusal {
	for i, r := range found {
		found[i].Known = !slices.ContainsFunc(r.in(head), func(f fault) bool { return !slices.Contains(known, f) })
	}
	return found
}

// validated asks the rules for an update, or for a creation if there is nothing to update. Those for an update say less of
// metadata; what they leave out is asked of every object (k8s.io/apiserver/pkg/registry/rest/update.go).
func validated(base *apiextensionsv1.CustomResourceDefinition, head *apiextensions.CustomResourceDefinition) field.ErrorList {
	if base != nil {
		if was, errs := internal(base); errs == nil {
			errs := apivalidation.ValidateObjectMeta(&head.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
			return append(errs, validation.ValidateCustomResourceDefinitionUpdate(context.Background(), established(head), established(was))...)
		}
	}
	return validation.ValidateCustomResourceDefinition(context.Background(), head)
}

// internal is a CRD as the API server's registry has it before it validates: with defaults, and with nothing that a client
// cannot set, about which setByServer has its say. Of storedVersions it holds what the API server itself would put there, since the gate judges the rest.
func internal(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, field.ErrorList) {
	own := crd.DeepCopy()
	own.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	own.ResourceVersion, own.UID, own.Generation, own.Namespace = "", "", 1, ""
	own.ManagedFields, own.DeletionTimestamp, own.DeletionGracePeriodSeconds = nil, nil, nil
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(own)
	out := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(own, out, nil); err != nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec"), "", err.Error())}
	}
	return out, nil
}

// established is a CRD that the API server has taken and serves, since most are when they are updated: some rules are
// stricter then.
func established(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	crd.ResourceVersion, crd.UID = "1", "1"
	crd.Status.StoredVersions = nil
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
		}
	}
	crd.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{
		{Type: apiextensions.Established, Status: apiextensions.ConditionTrue},
	}
	return crd
}

func refusals(crd *apiextensionsv1.CustomResourceDefinition, errs field.ErrorList) []Refusal {
	found := words.Of(errs, func(err *field.Error) Refusal { return refusalAt(crd, err.Field, sentence(err)) })
	slices.SortFunc(found, func(a, b Refusal) int {
		return strings.Compare(a.Path+"\x00"+a.Said, b.Path+"\x00"+b.Said)
	})
	return slices.Compact(found)
}

func refusalAt(crd *apiextensionsv1.CustomResourceDefinition, path, said string) Refusal {
	r := Refusal{Path: path, Said: said}
	if i, _, within := index(path); within && i < len(crd.Spec.Versions) {
		r.Version = crd.Spec.Versions[i].Name
	}
	return r
}

func notSaidElsewhere(errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(errs, saidElsewhere)
}

// saidElsewhere: GroupChanged, KindChanged, PluralChanged and ScopeChanged of package change, and NameRefused of preview.
func saidElsewhere(err *field.Error) bool {
	return err.Detail == apivalidation.FieldImmutableErrorMsg ||
		err.Field == "metadata.name" && strings.Contains(err.Detail, "must be spec.names.plural")
}

// longest is how much of a sentence is of use to a person, in characters; some hold a whole schema.
const longest = 300

// sentence is what the API server says, without values that are schemas and without the drawings of the CEL compiler.
func sentence(err *field.Error) string {
	said := err.ErrorBody()
	if len(said) > longest {
		said = fmt.Sprintf("%s: %s", err.Type, err.Detail)
	}
	return words.Clip(strings.TrimSuffix(strings.Join(strings.Fields(said), " "), "."), longest)
}
