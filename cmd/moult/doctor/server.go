package doctor

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/doctor"
)

// server is the API server's version.
func (e *eyes) server() (known doctor.Known[string]) {
	info, err := e.core.Discovery().ServerVersion()
	if err != nil {
		known.Not = unread(err, "the API server's version", "get on /version")
		return known
	}
	known.Value = info.GitVersion
	return known
}

// aggregated are the served versions of a CRD for which another API server answers.
func (e *eyes) aggregated(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (known doctor.Known[[]doctor.Aggregated]) {
	var served []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	routes, err := e.routes.Routes(ctx, crd.Spec.Group, served...)
	if err != nil {
		known.Not = unread(err, "the APIServices of "+crd.Name, "get on apiservices in apiregistration.k8s.io")
		return known
	}
	for _, r := range routes {
		if r.Aggregated() {
			known.Value = append(known.Value, doctor.Aggregated{APIService: r.APIService, Service: r.Service})
		}
	}
	return known
}

// routes tell who answers for a group.
type routes interface {
	Routes(ctx context.Context, group string, versions ...string) ([]rewrite.Route, error)
}

func newRoutes(cfg *rest.Config) (routes, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return rewrite.NewClient(cfg, httpClient)
}
