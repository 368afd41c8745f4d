package conversion

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"k8s.io/apimachinery/pkg/util/validation/field"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crdschema"
)

// Engine does what the API server does with objects of one CRD. It may be asked from several goroutines.
type Engine struct {
	// CRD is the name, and Storage the version at which objects are stored.
	CRD, Storage string

	group, kind string
	versions    map[string]*version
	served      []string
	// converter is nil if a webhook converts, and it is not known how it is reached.
	converter Converter
}

// New makes an engine of a CRD as the API server would take it. It is an error if a schema is none, or is not structural.
func New(crd *apiextensionsv1.CustomResourceDefinition) (*Engine, error) {
	e := &Engine{CRD: crd.Name, Storage: crds.StorageVersion(crd), group: crd.Spec.Group, kind: crd.Spec.Names.Kind, versions: map[string]*version{}}
	if e.Storage == "" {
		return nil, fmt.Errorf("%s has no storage version", crd.Name)
	}
	if !crds.HasWebhook(crd) {
		e.converter = none{}
	}
	for i := range crd.Spec.Versions {
		name := crd.Spec.Versions[i].Name
		v, err := versionOf(crd, name)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s at %s cannot be used: %w", crd.Name, name, err)
		}
		e.versions[name] = v
		if crd.Spec.Versions[i].Served || name == e.Storage {
			e.served = append(e.served, name)
		}
	}
	return e, nil
}

// With is the same engine with another converter.
func (e *Engine) With(c Converter) *Engine {
	with := *e
	with.converter = c
	return &with
}

// StoredAt is the same engine with another storage version, which the CRD has to have.
func (e *Engine) StoredAt(version string) *Engine {
	at := *e
	at.Storage = version
	return &at
}

// Served are the versions that are served, and the one that is stored, in the CRD's order.
func (e *Engine) Served() []string { return slices.Clone(e.served) }

// Version is how objects are read at a version; nil if the CRD does not have it.
func (e *Engine) Version(name string) *crdschema.Version {
	if v := e.versions[name]; v != nil {
		return v.Version
	}
	return nil
}

// Problems are what the API server has against an object that is made anew at a version, with its defaults filled in.
func (e *Engine) Problems(ctx context.Context, version string, object map[string]any) field.ErrorList {
	return e.versions[version].refused(ctx, object, nil)
}
