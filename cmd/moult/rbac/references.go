package rbac

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/survivors"
)

// printReferences prints what the controller's flag --references needs.
func (r *command) printReferences(ctx context.Context, paths []string, stdin io.Reader) error {
	resources, about := r.known(), "what else may name the versions that are to go: the resources of Kubernetes, and those at which versions are known to lie"
	if len(paths) > 0 {
		crds, err := r.built(ctx, paths, stdin)
		if err != nil {
			return err
		}
		resources, about = map[string][]string{}, "the objects of these CRDs, which may name versions of others that are to go"
		for _, crd := range crds {
			resources[crd.Spec.Group] = append(resources[crd.Spec.Group], crd.Spec.Names.Plural)
		}
	}
	role := r.empty()
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		role.Rules = append(role.Rules, rule(group, slices.Compact(slices.Sorted(slices.Values(resources[group]))), "get", "list"))
	}
	return r.write(fmt.Sprintf("What moult-controller reads with --references: %s. Printed by `moult rbac --references`.", about), role)
}

// known are the resources of Kubernetes and those that the registry of places names, by group.
func (r *command) known() map[string][]string {
	resources := map[string][]string{}
	for _, all := range []map[string][]string{dependents, others} {
		for group, names := range all {
			resources[group] = append(resources[group], names...)
		}
	}
	for _, named := range append(survivors.ResourcesOf(r.places), schema.ParseGroupResource("versionremovals.moult.dev")) {
		resources[named.Group] = append(resources[named.Group], named.Resource)
	}
	return resources
}
