package fieldownership

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// converting is a CRD with a conversion webhook.
func converting(config apiextensionsv1.WebhookClientConfig, reviews ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "widgets.example.com"
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &config, ConversionReviewVersions: reviews},
	}
	return crd
}

func TestWhatAWebhookAnswers(t *testing.T) {
	const success = `"result": {"status": "Success"}, "convertedObjects": `
	widget := func(apiVersion, name string) string {
		return fmt.Sprintf(`{"apiVersion": %q, "kind": "Widget", "metadata": {"name": %q}}`, apiVersion, name)
	}
	for name, c := range map[string]struct {
		code   int
		answer string // the response, without its braces
		body   string // the whole answer
		want   string // the error; empty for none
	}{
		"the object":           {answer: success + "[" + widget(current, "w") + "]"},
		"that it cannot":       {answer: `"result": {"status": "Failure", "message": "no such size"}`, want: "could not convert to example.com/v1: no such size"},
		"nothing":              {answer: success + "[]", want: "returned 0 objects for 1"},
		"another object":       {answer: success + "[" + widget(current, "x") + "]", want: `returned example.com/v1 Widget "x" for example.com/v1 Widget "w"`},
		"at another version":   {answer: success + "[" + widget(old, "w") + "]", want: `returned example.com/v1alpha1 Widget "w"`},
		"what is no object":    {answer: success + "[[1]]", want: "returned no object"},
		"no response":          {body: `{"kind": "ConversionReview"}`, want: "without a response"},
		"the page of a proxy":  {body: "<html>", want: "gave no ConversionReview"},
		"an error of its HTTP": {code: http.StatusServiceUnavailable, body: "later", want: "answered 503"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				review := apiextensionsv1.ConversionReview{}
				g.Expect(json.NewDecoder(r.Body).Decode(&review)).To(Succeed())
				g.Expect(review.APIVersion).To(Equal("apiextensions.k8s.io/v1beta1"), "the first that both know")
				g.Expect(review.Request.DesiredAPIVersion).To(Equal(current))
				if c.code != 0 {
					rw.WriteHeader(c.code)
				}
				body := c.body
				if body == "" {
					body = fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "ConversionReview", "response": {"uid": %q, %s}}`, review.Request.UID, c.answer)
				}
				_, _ = rw.Write([]byte(body))
			}))
			defer server.Close()
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			hook := NewWebhook(converting(apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: append([]byte("\n"), ca...)}, "v2", "v1beta1", "v1"))
			object := &unstructured.Unstructured{}
			g.Expect(object.UnmarshalJSON([]byte(widget(old, "w")))).To(Succeed())
			got, err := hook.Convert(t.Context(), []*unstructured.Unstructured{object}, current)
			if c.want != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring("the conversion webhook of widgets.example.com at "+server.URL), ContainSubstring(c.want))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(ConsistOf(HaveField("Object", HaveKeyWithValue("apiVersion", current))))
		})
	}
}

func TestAWebhookThatCannotBeCalled(t *testing.T) {
	url := "https://127.0.0.1:1/"
	for name, c := range map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		want string
	}{
		"there is none":               {&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"}}, "widgets.example.com has no conversion webhook"},
		"it speaks another language":  {converting(apiextensionsv1.WebhookClientConfig{URL: &url}, "v2"), "knows none of the ConversionReviews v1 and v1beta1"},
		"its CA bundle holds nothing": {converting(apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: []byte("none")}, "v1"), "caBundle without a certificate"},
		"nobody listens":              {converting(apiextensionsv1.WebhookClientConfig{URL: &url}, "v1"), "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewWebhook(c.crd).Convert(t.Context(), nil, current)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestWhereAWebhookIs(t *testing.T) {
	port, path, url := int32(9443), "/convert", "https://example.com/convert"
	for name, c := range map[string]struct {
		config             apiextensionsv1.WebhookClientConfig
		address, certifies string
	}{
		"a URL":     {apiextensionsv1.WebhookClientConfig{URL: &url}, url, ""},
		"a Service": {apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "ns", Name: "hook"}}, "https://hook.ns.svc:443/", "hook.ns.svc"},
		"a Service with a port and a path": {apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "ns", Name: "hook", Port: &port, Path: &path}},
			"https://hook.ns.svc:9443/convert", "hook.ns.svc"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			address, certifies := addressOf(&c.config)
			g.Expect(address).To(Equal(c.address))
			g.Expect(certifies).To(Equal(c.certifies))
		})
	}
}

// A review of v1beta1 is sent as one of v1: their fields are the same.
func TestReviewsOfBothVersionsHaveTheSameFields(t *testing.T) {
	g := NewWithT(t)
	raw, err := json.Marshal(apiextensionsv1.ConversionRequest{UID: "u", DesiredAPIVersion: current, Objects: []runtime.RawExtension{{Raw: []byte(`{}`)}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.TrimSpace(string(raw))).To(MatchJSON(`{"uid": "u", "desiredAPIVersion": "example.com/v1", "objects": [{}]}`))
}
