package rbac

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/survivors"
)

// stashesRole grants what moving stashed copies takes, as places and their moves declare it. It may read what holds
// copies, owns them, names them or takes them, and write what names them. It may make successors of what holds them and
// delete that.
func (r *command) stashesRole() *rbacv1.ClusterRole {
	verbs := map[schema.GroupResource][]string{}
	allow := func(resource string, more ...string) {
		gr := schema.ParseGroupResource(resource)
		verbs[gr] = append(verbs[gr], more...)
	}
	for i := range r.places {
		move := survivors.MoveOf(&r.places[i])
		if move == nil {
			continue
		}
		for _, resource := range r.places[i].Resources {
			allow(string(resource), "get", "list", "create", "patch", "delete")
		}
		for _, named := range move.References {
			allow(named.Resource, "get", "list")
			if named.Fixed != "" {
				continue
			}
			allow(named.Resource, "patch")
			if slices.ContainsFunc(named.Paths, func(path string) bool { return strings.HasPrefix(path, "status.") }) {
				plural, group, _ := strings.Cut(named.Resource, ".")
				allow(plural+"/status."+group, "patch")
			}
		}
		for _, work := range move.Busy {
			allow(work.Resource, "get", "list")
		}
		if move.Controller != nil {
			allow(move.Controller.Resource, "get", "list")
		}
	}
	role := r.empty()
	for _, gr := range slices.SortedFunc(maps.Keys(verbs), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	}) {
		role.Rules = append(role.Rules, rule(gr.Group, []string{gr.Resource}, slices.Compact(slices.Sorted(slices.Values(verbs[gr])))...))
	}
	return role
}
