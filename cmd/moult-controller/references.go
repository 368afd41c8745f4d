package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/internal/start"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/survivors"
)

// references are what is to be looked for beside the objects of CRDs.
type references struct {
	look   bool
	except []string
	places string

	all []survivors.Place // that are known
}

// mostNamed is how many fields are named of each place, CRD and version; all are counted.
const mostNamed = 100

func (r *references) validate() error {
	if !r.look {
		if len(r.except) > 0 || r.places != "" {
			return errors.New("--references-except and --places are about the look that --references turns on")
		}
		return nil
	}
	for _, resource := range r.except {
		if schema.ParseGroupResource(resource).Resource == "" {
			return fmt.Errorf("--references-except names %q; write it like secrets or widgets.example.com", resource)
		}
	}
	all, err := start.Places(r.places)
	r.all = all
	return err
}

// in is what looks through a cluster; nil if nothing is to.
func (r *references) in(cfg *rest.Config) (removal.References, error) {
	if !r.look {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	cluster, err := inspect.Connect(cfg)
	if err != nil {
		return nil, err
	}
	search := inspect.SurvivorSearch{Places: r.all, Most: mostNamed, LeaveOut: map[string]string{}}
	for _, resource := range r.except {
		search.LeaveOut[resource] = "left out by --references-except"
	}
	return &looking{cluster, search}, nil
}

// looking looks through a cluster.
type looking struct {
	cluster *inspect.Cluster
	search  inspect.SurvivorSearch
}

// Look is one look at all objects.
func (l *looking) Look(ctx context.Context, targets []survivors.Target) (survivors.Report, error) {
	search := l.search
	search.Targets = targets
	return l.cluster.Survivors(ctx, search)
}
