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

	"github.com/moult-dev/moult/api/v1alpha1"
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
	if names := r.mutators(ctx, crd); len(names) > 0 {
		return "a mutating webhook, most likely " + strings.Join(names, " or ") + ","
	}
	return "something (look for a mutating admission webhook or policy)"
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
