package fieldownership

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const (
	userAgent = "moult"
	// callTimeout is the API server's own for a conversion.
	callTimeout = 30 * time.Second
	// idleTimeout lets connections outlive the pause between two objects, and no walk.
	idleTimeout = 5 * time.Second
	// maxAnswer bounds what is read of an answer: a few objects of at most 1.5 MiB.
	maxAnswer = 16 << 20
)

// Webhook calls a CRD's conversion webhook as the API server does
// (k8s.io/apiextensions-apiserver/pkg/apiserver/conversion). That package is not
// used because it brings gRPC, OpenTelemetry and metrics of its own into the
// program, 7 MB of it, and takes no context.
type Webhook struct {
	url     string
	review  string // apiVersion of the ConversionReview
	client  *http.Client
	crdName string
	err     error // why it cannot be called
}

// NewWebhook is the webhook of a CRD as read from the API server. An error in what
// the CRD says of it is one of every call.
func NewWebhook(crd *apiextensionsv1.CustomResourceDefinition) *Webhook {
	w, err := webhookOf(crd)
	if err != nil {
		return &Webhook{err: err}
	}
	return w
}

func webhookOf(crd *apiextensionsv1.CustomResourceDefinition) (*Webhook, error) {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return nil, fmt.Errorf("%s has no conversion webhook", crd.Name)
	}
	at := slices.IndexFunc(c.Webhook.ConversionReviewVersions, func(v string) bool { return v == "v1" || v == "v1beta1" })
	if at < 0 {
		return nil, fmt.Errorf("the conversion webhook of %s knows none of the ConversionReviews v1 and v1beta1", crd.Name)
	}
	address, serverName := addressOf(c.Webhook.ClientConfig)
	trust := &tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12}
	if ca := bytes.TrimSpace(c.Webhook.ClientConfig.CABundle); len(ca) > 0 {
		if trust.RootCAs = x509.NewCertPool(); !trust.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("the conversion webhook of %s has a caBundle without a certificate", crd.Name)
		}
	}
	return &Webhook{
		url: address, crdName: crd.Name,
		review: apiextensionsv1.GroupName + "/" + c.Webhook.ConversionReviewVersions[at],
		client: &http.Client{Timeout: callTimeout, Transport: &http.Transport{
			TLSClientConfig: trust, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: atATime, IdleConnTimeout: idleTimeout,
		}},
	}, nil
}

// addressOf is where the webhook is, and the name that its certificate is for.
func addressOf(c *apiextensionsv1.WebhookClientConfig) (address, serverName string) {
	if c.URL != nil {
		return *c.URL, ""
	}
	if c.Service == nil {
		return "", ""
	}
	port, path := int32(443), "/"
	if c.Service.Port != nil {
		port = *c.Service.Port
	}
	if c.Service.Path != nil {
		path = *c.Service.Path
	}
	host := c.Service.Name + "." + c.Service.Namespace + ".svc"
	return "https://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + path, host
}

// Convert converts objects to a version, given with its group, all in one call.
// The error names the webhook.
func (w *Webhook) Convert(ctx context.Context, objects []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error) {
	if w.err != nil {
		return nil, w.err
	}
	converted, err := w.call(ctx, objects, apiVersion)
	if err != nil {
		return nil, fmt.Errorf("the conversion webhook of %s at %s, asked by Moult: %w", w.crdName, w.url, err)
	}
	return converted, nil
}

func (w *Webhook) call(ctx context.Context, objects []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error) {
	request := &apiextensionsv1.ConversionRequest{UID: uuid.NewUUID(), DesiredAPIVersion: apiVersion}
	for _, object := range objects {
		request.Objects = append(request.Objects, runtime.RawExtension{Object: object})
	}
	review := apiextensionsv1.ConversionReview{TypeMeta: metav1.TypeMeta{APIVersion: w.review, Kind: "ConversionReview"}, Request: request}
	body, err := json.Marshal(review) // v1beta1 has the same fields
	if err != nil {
		return nil, err
	}
	answer, err := w.post(ctx, body)
	if err != nil {
		return nil, err
	}
	return read(answer, objects, apiVersion)
}

func (w *Webhook) post(ctx context.Context, body []byte) (*apiextensionsv1.ConversionResponse, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %s", response.Status)
	}
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(review); err != nil {
		return nil, fmt.Errorf("gave no ConversionReview: %w", err)
	}
	if review.Response == nil {
		return nil, errors.New("gave a ConversionReview without a response")
	}
	return review.Response, nil
}

// read are the converted objects, each of which must still be the one it was.
func read(response *apiextensionsv1.ConversionResponse, sent []*unstructured.Unstructured, apiVersion string) ([]*unstructured.Unstructured, error) {
	if response.Result.Status != metav1.StatusSuccess {
		return nil, fmt.Errorf("could not convert to %s: %s", apiVersion, response.Result.Message)
	}
	if len(response.ConvertedObjects) != len(sent) {
		return nil, fmt.Errorf("returned %d objects for %d", len(response.ConvertedObjects), len(sent))
	}
	converted := make([]*unstructured.Unstructured, len(sent))
	for i, raw := range response.ConvertedObjects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw.Raw); err != nil {
			return nil, fmt.Errorf("returned no object: %w", err)
		}
		if object.GetAPIVersion() != apiVersion || object.GetKind() != sent[i].GetKind() || object.GetName() != sent[i].GetName() {
			return nil, fmt.Errorf("returned %s %s %q for %s %s %q", object.GetAPIVersion(), object.GetKind(), object.GetName(), apiVersion, sent[i].GetKind(), sent[i].GetName())
		}
		converted[i] = object
	}
	return converted, nil
}
