package crddiff

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/policies/finding"
)

// conversion: who turns an object of one version into one of another.
func conversion(c *comparison) {
	from, to := strategyOf(c.base), strategyOf(c.head)
	was, is := webhookOf(c.base), webhookOf(c.head)
	switch {
	case from != to && to == apiextensionsv1.WebhookConverter:
		c.tell("", ConversionWebhookAdded, finding.Warning, string(from), string(to)+" "+address(is),
			"objects stored at another version can be read and written only while the webhook answers: it has to run before the CRD is applied")
	case from != to && from == apiextensionsv1.WebhookConverter:
		c.tell("", ConversionWebhookRemoved, c.withoutWebhook(), string(from)+" "+address(was), string(to),
			"only apiVersion is rewritten from now on, and fields that a version does not have under the same name are dropped")
	case from != to:
		c.tell("", ConversionWebhookRemoved, finding.Error, string(from), string(to), "the API server knows only None and Webhook")
	case to == apiextensionsv1.WebhookConverter:
		c.webhook(was, is)
	}
}

// withoutWebhook: nothing is converted when one version is all there is.
func (c *comparison) withoutWebhook() finding.Severity {
	if len(c.to.Versions) < 2 && !c.flips() {
		return finding.Warning
	}
	return finding.Error
}

// webhook compares two webhooks.
func (c *comparison) webhook(was, is *apiextensionsv1.WebhookConversion) {
	c.renamed(ConversionWebhookMoved, finding.Warning, address(was), address(is),
		"objects stored at another version can be read and written only while the webhook answers at the new address")
	if from, to := clientOf(was).CABundle, clientOf(is).CABundle; !bytes.Equal(from, to) {
		c.tell("", ConversionCAChanged, finding.Info, size(from), size(to),
			"the webhook's certificate has to be signed by the new authority, unless something injects the authority in the cluster")
	}
	from, to := reviews(was), reviews(is)
	if gone := missing(from, to); len(gone) > 0 {
		severity, why := finding.Info, "the webhook is only sent ConversionReview v1, which API servers speak since Kubernetes 1.16"
		switch {
		case slices.Contains(to, "v1"):
		case slices.Contains(to, "v1beta1"):
			severity, why = finding.Warning, "the webhook is only sent ConversionReview v1beta1, which a later Kubernetes may no longer speak"
		default:
			severity, why = finding.Error, "API servers speak v1 and v1beta1 of ConversionReview, and the webhook takes neither"
		}
		c.tell("", ReviewVersionsNarrowed, severity, strings.Join(from, ", "), strings.Join(to, ", "), why)
	}
	if more := missing(to, from); len(more) > 0 {
		c.tell("", ReviewVersionsWidened, finding.Info, strings.Join(from, ", "), strings.Join(to, ", "), "the webhook has to take "+strings.Join(more, ", "))
	}
}

func webhookOf(crd *definition) *apiextensionsv1.WebhookConversion {
	if crd.Spec.Conversion == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook
}

func clientOf(w *apiextensionsv1.WebhookConversion) *webhookClient {
	if w == nil || w.ClientConfig == nil {
		return &webhookClient{}
	}
	return w.ClientConfig
}

// address is where the webhook is asked.
func address(w *apiextensionsv1.WebhookConversion) string {
	client := clientOf(w)
	switch {
	case client.URL != nil:
		return *client.URL
	case client.Service != nil:
		return fmt.Sprintf("service %s/%s:%d%s", client.Service.Namespace, client.Service.Name, ptr.Deref(client.Service.Port, 443), ptr.Deref(client.Service.Path, ""))
	default:
		return "nowhere"
	}
}

func reviews(w *apiextensionsv1.WebhookConversion) []string {
	if w == nil {
		return nil
	}
	return w.ConversionReviewVersions
}

// size stands for bytes that no person wants to read.
func size(b []byte) string {
	if len(b) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d bytes", len(b))
}
