package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// mutatorsTimeout bounds the search for a name, without which all goes on as well.
const mutatorsTimeout = 10 * time.Second

// mostMutators is how many are named.
const mostMutators = 10

var mutatorsResource = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")

// alteredBy says in half a sentence what changes the objects of a CRD at every
// write; empty if nothing does.
func (r *Reconciler) alteredBy(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, t rewrite.Result) string {
	if t.By[rewrite.Altered] == 0 || t.Alteration == nil {
		return ""
	}
	who := "something (look for a mutating admission webhook or policy)"
	if names := r.mutators(ctx, crd); len(names) > 0 {
		who = "a mutating webhook, most likely " + strings.Join(names, " or ") + ","
	}
	return fmt.Sprintf("%s changes objects at every write, such as %s, so that it cannot be seen whether they were stale", who, t.Alteration)
}

// mutators are the mutating webhooks that are called for updates of a CRD's objects,
// as far as we may know.
func (r *Reconciler) mutators(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, mutatorsTimeout)
	defer cancel()
	_, err := r.objects.EachWhole(ctx, mutatorsResource, r.opts.Clock, func() { names = nil }, func(page []map[string]any, _ int64) error {
		for _, object := range page {
			configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, configuration); err != nil {
				return err
			}
			for _, webhook := range configuration.Webhooks {
				if len(names) < mostMutators && slices.ContainsFunc(webhook.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool { return concerns(rule, crd) }) {
					names = append(names, fmt.Sprintf("%s of MutatingWebhookConfiguration %s", webhook.Name, configuration.Name))
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil
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

// scoped reports whether a rule's scope leaves room for the CRD's.
func scoped(rule *admissionregistrationv1.ScopeType, crd apiextensionsv1.ResourceScope) bool {
	return rule == nil || *rule == admissionregistrationv1.AllScopes || string(*rule) == string(crd)
}
