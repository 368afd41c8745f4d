package rewrite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Route reports who answers the requests for one version of an API group.
type Route struct {
	// APIService decides it; there need not be one.
	APIService string
	// Service, as namespace/name, leads to the aggregated API server that answers; it is empty if the API server
	// answers by itself.
	Service string
	// Revision is another one whenever the APIService has been written. It is empty if there is none, or if it is so
	// new that it has no status yet, which is written to it in a moment.
	Revision string
}

// Aggregated reports whether an aggregated API server answers. Then nothing that is stored under a CRD can be seen.
func (r Route) Aggregated() bool { return r.Service != "" }

// Routes looks at who answers for each of the versions. Without the aggregator, or without an APIService, it is the API
// server itself (k8s.io/kube-aggregator pkg/apiserver, handler_proxy.go: one without a service is local).
func (c *Client) Routes(ctx context.Context, group string, versions ...string) ([]Route, error) {
	routes := make([]Route, 0, len(versions))
	for _, version := range versions {
		route, err := c.route(ctx, version, group)
		if err != nil {
			return nil, err
		}
		routes = append(routes, route)
	}
	return routes, nil
}

// aggregation is the group of APIServices.
const aggregation = "apiregistration.k8s.io"

func (c *Client) route(ctx context.Context, version, group string) (Route, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := version + "." + group
	route := Route{APIService: name}
	answer := c.rest.Get().AbsPath("apis", aggregation, "v1", "apiservices", name).SetHeader("Accept", "application/json").MaxRetries(0).Do(ctx)
	err := answer.Error()
	if IsGone(err, aggregation, name) {
		return route, nil
	}
	if apierrors.IsNotFound(err) {
		err = c.withoutAggregation(ctx, group, err)
		if err == nil {
			return route, nil
		}
	}
	if err != nil {
		return route, fmt.Errorf("reading APIService %s: %w", name, err)
	}
	body, err := answer.Raw()
	if err != nil {
		return route, fmt.Errorf("reading APIService %s: %w", name, err)
	}
	var found struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Service *struct{ Namespace, Name string } `json:"service"`
		} `json:"spec"`
		Status struct {
			Conditions []struct{} `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return route, fmt.Errorf("reading APIService %s: %w", name, err)
	}
	if len(found.Status.Conditions) > 0 {
		route.Revision = string(found.Metadata.UID) + "/" + found.Metadata.ResourceVersion
	}
	if s := found.Spec.Service; s != nil {
		route.Service = s.Namespace + "/" + s.Name
	}
	return route, nil
}

// BuiltIn reports whether the API server answers with a resource of its own, which hides the objects of a CRD with its name. A built-in
// resource is sent as protobuf, and one of a CRD never is (k8s.io/apiextensions-apiserver pkg/apiserver, customresource_handler.go). The
// APIService does not show it: the CRD's registration overwrites the label of a built-in one (k8s.io/kube-aggregator, autoregister).
func (c *Client) BuiltIn(ctx context.Context, gvr schema.GroupVersionResource) (bool, error) {
	if !strings.HasSuffix(gvr.Group, ".k8s.io") { // the group of a CRD has a dot, and of those only these are built in
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := (&resource{client: c, gvr: gvr}).stream(ctx, runtime.ContentTypeProtobuf, metav1.ListOptions{Limit: 1})
	if apierrors.IsNotAcceptable(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, body.Close()
}

// withoutAggregation makes sure that an API server has no APIServices: it lists its groups, that of the objects among them. A 404
// alone may be that of a proxy.
func (c *Client) withoutAggregation(ctx context.Context, group string, notFound error) error {
	body, err := c.rest.Get().AbsPath("apis").SetHeader("Accept", "application/json").MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	raw, err := readBounded(body, mostOfOne, errNoEnd)
	if err != nil {
		return err
	}
	found := &metav1.APIGroupList{}
	if err := json.Unmarshal(raw, found); err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(found.Groups, func(g metav1.APIGroup) bool { return g.Name == name })
	}
	if !has(group) || has(aggregation) {
		return fmt.Errorf("the answer is not the API server's; look for a proxy before it: %w", notFound)
	}
	return nil
}
