package migration

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// maxFailureText bounds what one failed object adds to a message, in characters:
// twenty of them fit into an Event.
const maxFailureText = 240

// maxFailure is how long each half of a failure is, in characters: an API server may quote a whole object, and in JSON a character
// may take six bytes.
const maxFailure = 8 << 10

// failureOf says why a walk did not do all it should have; nil if it did.
func failureOf(crd *apiextensionsv1.CustomResourceDefinition, t rewrite.Result, err error) *plan.Failure {
	if held := (*walkFailure)(nil); errors.As(err, &held) {
		return &held.failure
	}
	if stopped := (*rewrite.Stopped)(nil); errors.As(err, &stopped) {
		return stoppedFailure(crd, t, stopped)
	}
	if err != nil { // whatever it is, nothing has been proved
		return failure(v1alpha1.ReasonUnavailable, "the objects could not be looked through; trying again with growing pauses", ": %v", err)
	}
	if len(t.FailedObjects) == 0 {
		return nil
	}
	named := failedObjectsOf(t.FailedObjects)
	more := ""
	if rest := t.By[rewrite.Failed] - int64(len(named)); rest > 0 {
		more = fmt.Sprintf("; and %d more", rest)
	}
	return failure(v1alpha1.ReasonObjectsFailed, fmt.Sprintf("%s and tried again with growing pauses", countsOf(t).Progress()),
		": %s%s", strings.Join(textsOf(named), "; "), more)
}

// failure is a sentence that anybody may read, and what follows in it that names
// objects or quotes the API server.
func failure(reason, public, more string, args ...any) *plan.Failure {
	public = words.Clip(public, maxFailure)
	return &plan.Failure{Reason: reason, Public: public, Message: public + words.Clip(fmt.Sprintf(more, args...), maxFailure)}
}

// refusedTo finds the verb, the resource and the group in what the API server says of a missing permission
// (k8s.io/apiserver pkg/endpoints/handlers/responsewriters, forbiddenMessage).
var refusedTo = regexp.MustCompile(`cannot (\S+) resource "([^"]+)" in API group "([^"]*)"`)

func stoppedFailure(crd *apiextensionsv1.CustomResourceDefinition, t rewrite.Result, stopped *rewrite.Stopped) *plan.Failure {
	switch stopped.Cause {
	case rewrite.Forbidden:
		if refused := refusedTo.FindStringSubmatch(stopped.Err.Error()); len(refused) > 3 && refused[2] != crd.Spec.Names.Plural {
			return forbiddenFailure(stopped.Err, refused[3], refused[2], refused[1])
		}
		return forbiddenFailure(stopped.Err, crd.Spec.Group, crd.Spec.Names.Plural, "get", "list", "patch")
	case rewrite.ConversionUnavailable:
		held := failure(v1alpha1.ReasonConversionUnavailable, fmt.Sprintf(conversionUnavailable, webhookName(crd)), ": %v", stopped.Err)
		held.Public = fmt.Sprintf(conversionUnavailable, "")
		return held
	case rewrite.Corrupt:
		return corruptFailure(t)
	case rewrite.Unavailable:
		return failure(v1alpha1.ReasonUnavailable, "the API server could not serve the objects; trying again with growing pauses", ": %v", stopped.Err)
	}
	return failure(v1alpha1.ReasonUnavailable, "", "%v", stopped)
}

// corruptFailure names the objects because of which no list is answered.
func corruptFailure(t rewrite.Result) *plan.Failure {
	remedies := words.Distinct(words.Of(t.FailedObjects, func(f rewrite.FailedObject) string { return plan.Remedy(f.Message) }))
	return failure(v1alpha1.ReasonObjectsFailed, fmt.Sprintf("the API server cannot read %s from etcd, so it lists none; %s; trying again with growing pauses",
		words.Count(t.FailedBy[plan.Unreadable], "object"), strings.Join(remedies, "; or ")), ": %s", strings.Join(textsOf(failedObjectsOf(t.FailedObjects)), "; "))
}

const conversionUnavailable = "the conversion webhook%s cannot be used, so objects stored at another version cannot be read; bring it up or fix spec.conversion.webhook.clientConfig"

// forbiddenFailure names the exact RBAC rule that is missing.
func forbiddenFailure(err error, group, resource string, verbs ...string) *plan.Failure {
	rule := fmt.Sprintf(`{apiGroups: [%q], resources: [%q], verbs: ["%s"]}`, group, resource, strings.Join(verbs, `", "`))
	return failure(v1alpha1.ReasonForbidden, "a permission is missing; add this rule to a ClusterRole bound to Moult: "+rule, "; the API server said: %v", err)
}

// statusFailure is the failure of a refused write to a CRD's status; nil for
// errors that simply call for another try.
func statusFailure(err error) *plan.Failure {
	switch {
	case rewrite.IsForbidden(err):
		return forbiddenFailure(err, apiextensionsv1.GroupName, "customresourcedefinitions/status", "patch")
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), rewrite.IsDenied(err): // which has any code
		return failure(v1alpha1.ReasonForbidden, "the status of the CRD may not be written; look for an admission policy or webhook that refuses it, and let Moult pass", ": %v", err)
	case rewrite.IsWebhookDown(err):
		return failure(v1alpha1.ReasonUnavailable, "the status of the CRD could not be written, since an admission webhook did not answer; bring it up; trying again with growing pauses", ": %v", err)
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
