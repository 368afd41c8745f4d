package converters

import (
	"context"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/conversion"
)

// Copies converts objects that are stashed in others as the API server converts those that it stores. It is a stashes.Converter for
// one look: a webhook that has not answered for some time is asked no more.
type Copies struct {
	// GetCRD reads a CRD, each time that an object of it is converted.
	GetCRD func(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error)
	// Webhooks says how theirs are reached.
	Webhooks Webhooks

	mu      sync.Mutex
	engines map[string]generation
}

// generation is the engine of a CRD as it was.
type generation struct {
	uid    types.UID
	number int64
	*conversion.Engine
}

// ConvertCopy converts an object to the storage version, if that is one of some versions, else to the first of these.
func (c *Copies) ConvertCopy(ctx context.Context, name string, object map[string]any, to []string) (converted map[string]any, version string, err error) {
	crd, err := c.GetCRD(ctx, name)
	if err != nil {
		return nil, "", err
	}
	engine, err := c.engine(crd)
	if err != nil {
		return nil, "", err
	}
	version = engine.Storage
	if !slices.Contains(to, version) && len(to) > 0 {
		version = to[0]
	}
	converted, err = engine.Copy(ctx, object, version)
	return converted, version, err
}

func (c *Copies) engine(crd *apiextensionsv1.CustomResourceDefinition) (*conversion.Engine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is := c.engines[crd.Name]; is.Engine != nil && is.uid == crd.UID && is.number == crd.Generation {
		return is.Engine, nil
	}
	engine, err := conversion.New(crd)
	if err != nil {
		return nil, err
	}
	if crds.HasWebhook(crd) {
		webhook, err := c.Webhooks.For(crd)
		if err != nil {
			return nil, err
		}
		engine = engine.With(webhook)
	}
	if c.engines == nil {
		c.engines = map[string]generation{}
	}
	c.engines[crd.Name] = generation{crd.UID, crd.Generation, engine}
	return engine, nil
}
