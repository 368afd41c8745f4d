package migration

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// maxFailureText bounds what one failed object adds to a message, in bytes:
// twenty of them fit into an Event.
const maxFailureText = 240

// troubleOf says why a walk did not do all it should have; nil if it did.
func troubleOf(crd *apiextensionsv1.CustomResourceDefinition, t rewrite.Tally, err error) *plan.Trouble {
	if held := (*troubled)(nil); errors.As(err, &held) {
		return &held.trouble
	}
	if stopped := (*rewrite.Stopped)(nil); errors.As(err, &stopped) {
		return stoppedTrouble(crd, stopped)
	}
	if len(t.Failures) == 0 {
		return nil
	}
	named := failuresOf(t)
	more := ""
	if rest := t.By[rewrite.Failed] - int64(len(named)); rest > 0 {
		more = fmt.Sprintf("; and %d more", rest)
	}
	return trouble(v1alpha1.ReasonObjectsFailed, fmt.Sprintf("%s and tried again with growing pauses", countsOf(t).Progress()),
		": %s%s", strings.Join(textsOf(named), "; "), more)
}

// trouble is a sentence that anybody may read, and what follows in it that names
// objects or quotes the API server.
func trouble(reason, public, more string, args ...any) *plan.Trouble {
	return &plan.Trouble{Reason: reason, Public: public, Message: public + fmt.Sprintf(more, args...)}
}

func stoppedTrouble(crd *apiextensionsv1.CustomResourceDefinition, stopped *rewrite.Stopped) *plan.Trouble {
	switch stopped.Cause {
	case rewrite.Forbidden:
		return forbiddenTrouble(stopped.Err, crd.Spec.Group, crd.Spec.Names.Plural, "get", "list", "patch")
	case rewrite.ConversionUnavailable:
		return &plan.Trouble{Reason: v1alpha1.ReasonConversionUnavailable,
			Message: fmt.Sprintf(conversionUnavailable+": %v", webhookName(crd), stopped.Err), Public: fmt.Sprintf(conversionUnavailable, "")}
	case rewrite.Unavailable:
		return trouble(v1alpha1.ReasonUnavailable, "the API server could not serve the objects; trying again with growing pauses", ": %v", stopped.Err)
	}
	return &plan.Trouble{Reason: v1alpha1.ReasonUnavailable, Message: stopped.Error()}
}

const conversionUnavailable = "the conversion webhook%s cannot be used, so objects stored at another version cannot be read; bring it up or mend spec.conversion.webhook.clientConfig"

// forbiddenTrouble names the exact RBAC rule that is missing.
func forbiddenTrouble(err error, group, resource string, verbs ...string) *plan.Trouble {
	rule := fmt.Sprintf(`{apiGroups: [%q], resources: [%q], verbs: ["%s"]}`, group, resource, strings.Join(verbs, `", "`))
	return trouble(v1alpha1.ReasonForbidden, "a permission is missing; add this rule to a ClusterRole bound to Moult: "+rule, "; the API server said: %v", err)
}

// statusTrouble turns a refused write to a CRD's status into a trouble; nil for
// errors that simply call for another try.
func statusTrouble(err error) *plan.Trouble {
	switch {
	case rewrite.IsForbidden(err):
		return forbiddenTrouble(err, apiextensionsv1.GroupName, "customresourcedefinitions/status", "patch")
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return trouble(v1alpha1.ReasonForbidden, "the status of the CRD may not be written; look for an admission policy or webhook that refuses it, and let Moult pass", ": %v", err)
	default:
		return nil
	}
}

func webhookName(crd *apiextensionsv1.CustomResourceDefinition) string {
	c := crd.Spec.Conversion
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return ""
	}
	s := c.Webhook.ClientConfig.Service
	return fmt.Sprintf(" (service %s/%s)", s.Namespace, s.Name)
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
