package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/unpacking"
)

// mutatorsTimeout bounds the search. Without an answer, something may change objects that has no name.
const mutatorsTimeout = 10 * time.Second

// mostMutators is how many are named.
const mostMutators = 10

// mutatorsResources are where they are, each at the versions that API servers may have it at, the best first.
var mutatorsResources = map[schema.GroupResource][]string{
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingwebhookconfigurations"}: {"v1"},
	{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicies"}:     {"v1", "v1beta1", "v1alpha1"},
}

// mutator is what a MutatingWebhookConfiguration or a MutatingAdmissionPolicy has of what is looked at.
type mutator struct {
	metav1.ObjectMeta `json:"metadata"`

	Webhooks []struct {
		Name  string                                       `json:"name"`
		Rules []admissionregistrationv1.RuleWithOperations `json:"rules"`
	} `json:"webhooks"`
	Spec struct {
		MatchConstraints struct {
			ResourceRules []admissionregistrationv1.RuleWithOperations `json:"resourceRules"`
		} `json:"matchConstraints"`
	} `json:"spec"`
}

// admission has a walk ask what would be taken away by what changes objects as they are written.
func (r *Reconciler) admission(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storageVersion string) *rewrite.Admission {
	f, gvr := r.newFields(crd), resourceOf(crd).WithVersion(storageVersion)
	names, err := r.mutators(ctx, crd)
	unless := "exempt Moult's, or allow it by " + v1alpha1.AllowFieldLossAnnotation
	if crd.Name == "" {
		unless = "exempt Moult's"
	}
	because := fmt.Sprintf(" would be lost or changed at the write (%s) by %s", unless, who(names))
	return &rewrite.Admission{
		DryRun: r.objects.DryRun().Resource(gvr), Always: err != nil || len(names) > 0,
		Lost: func(ctx context.Context, key types.NamespacedName) (why string, err error) {
			var lost []string
			err = r.objects.TakeRewritten(ctx, gvr, key, func(both []byte) (err error) {
				lost, why, err = taken(both)
				return err
			})
			if f.may(storageVersion, why) {
				why = ""
			}
			lost = slices.DeleteFunc(lost, func(field string) bool { return f.may(storageVersion, field) })
			if err != nil || len(lost) == 0 {
				return why, err
			}
			return strings.Join(lost[:min(len(lost), maxFieldsTold)], ", ") + because, nil
		},
	}
}

// mostCompared is what an object takes that is compared with what a write would leave of it, both decoded, in bytes.
const mostCompared = 64 << 20

// taken are the fields that the second of two objects lacks, or has other values of; or why they are not known.
func taken(both []byte) (lost []string, unknown string, err error) {
	if cost, _ := unpacking.CostOfJSON(both); cost > mostCompared {
		return nil, fmt.Sprintf("it is not known what would be lost or changed at the write: both states of the object take %d MiB, and %d MiB are compared", cost>>20, mostCompared>>20), nil
	}
	objects := [2]map[string]any{}
	if err := utiljson.Unmarshal(both, &objects); err != nil {
		return nil, "", err
	}
	return crdschema.Taken(objects[0], objects[1]), "", nil
}

// alteredBy says in half a sentence what changes the objects of a CRD at every
// write; empty if nothing does.
func (r *Reconciler) alteredBy(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, t rewrite.Result) string {
	if t.By[rewrite.Altered] == 0 || t.Alteration == nil {
		return ""
	}
	return fmt.Sprintf("%s changes objects at every write, such as %s, so that it cannot be seen whether they were stale", r.whoAlters(ctx, crd), t.Alteration)
}

// tellOfAlteration reports what has changed objects as they were rewritten. It may have taken fields away, which their metadata do not show.
func (r *Reconciler) tellOfAlteration(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, t rewrite.Result) {
	if t.Alteration != nil {
		r.event(crd, v1alpha1.EventObjectsAltered, "%s changed objects when Moult rewrote them, such as %s, as it does whenever a client writes them; see whether it takes anything away",
			r.whoAlters(ctx, crd), t.Alteration)
	}
}

func (r *Reconciler) whoAlters(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) string {
	names, _ := r.mutators(ctx, crd)
	return who(names)
}

func who(mutators []string) string {
	if len(mutators) > 0 {
		return "a mutating webhook or policy (most likely " + strings.Join(mutators, " or ") + ")"
	}
	return "something (look for a mutating admission webhook or policy, or for API servers that encrypt with different keys)"
}

// mutators are the mutating webhooks and policies that are called for updates of a CRD's objects. The error is that there may be others.
func (r *Reconciler) mutators(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, mutatorsTimeout)
	defer cancel()
	for resource, versions := range mutatorsResources {
		for _, version := range versions {
			var found []string
			_, failed := r.objects.EachWhole(ctx, resource.WithVersion(version), r.opts.Clock, func() { found = nil }, func(page []map[string]any, _ int64) error {
				for _, object := range page {
					m := mutator{}
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &m); err != nil {
						return err
					}
					found = append(found, m.called(crd)...)
				}
				return nil
			})
			names = append(names, found...)
			if !apierrors.IsNotFound(failed) { // an older API server has it at an earlier version, or not at all
				err = errors.Join(err, failed)
				break
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), mostMutators)], err
}

// called are the names of its parts that are called for updates of a CRD's objects.
func (m *mutator) called(crd *apiextensionsv1.CustomResourceDefinition) (names []string) {
	isCalled := func(rule admissionregistrationv1.RuleWithOperations) bool { return concerns(rule, crd) }
	for _, webhook := range m.Webhooks {
		if slices.ContainsFunc(webhook.Rules, isCalled) {
			names = append(names, fmt.Sprintf("%s of MutatingWebhookConfiguration %s", webhook.Name, m.Name))
		}
	}
	if slices.ContainsFunc(m.Spec.MatchConstraints.ResourceRules, isCalled) {
		names = append(names, "MutatingAdmissionPolicy "+m.Name)
	}
	return names
}

// concerns reports whether a rule has a webhook called for updates of a CRD's objects
// or of their status. Rules for a version match writes at the others, too.
func concerns(rule admissionregistrationv1.RuleWithOperations, crd *apiextensionsv1.CustomResourceDefinition) bool {
	plural := crd.Spec.Names.Plural
	anyOf := func(all []string, wanted ...string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return slices.Contains(wanted, s) })
	}
	operations := slices.ContainsFunc(rule.Operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.Update || o == admissionregistrationv1.OperationAll
	})
	return operations && anyOf(rule.APIGroups, crd.Spec.Group, "*") &&
		anyOf(rule.Resources, "*", "*/*", "*/status", plural, plural+"/*", plural+"/status") && scoped(rule.Scope, crd.Spec.Scope)
}

// scoped reports whether a rule's scope leaves room for the CRD's, if that is known.
func scoped(rule *admissionregistrationv1.ScopeType, crd apiextensionsv1.ResourceScope) bool {
	return rule == nil || crd == "" || *rule == admissionregistrationv1.AllScopes || string(*rule) == string(crd)
}
