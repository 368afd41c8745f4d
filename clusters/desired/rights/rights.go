// Package rights finds out which programs of a cluster may make CRDs by themselves. Operators do: what they make is in their image, and in no
// manifest.
package rights

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/moult-dev/moult/policies/delivery"
)

const (
	group    = "rbac.authorization.k8s.io"
	resource = "customresourcedefinitions"
	// crdGroup is the API group of CRDs.
	crdGroup = "apiextensions.k8s.io"
)

// Rights are those that a cluster's roles give, as far as they are in manifests.
type Rights struct {
	granted []grant
}

// grant is what one subject of a binding may do.
type grant struct {
	subject *delivery.Object
	role    string
	// may is what it may do with CRDs by name.
	may []string
	// all: it may do all with all objects. That is no sign of a program that makes CRDs: those that deliver and those that look have it, too.
	all bool
}

// Of are the rights to make CRDs in a cluster, and among some more objects.
func Of(c *delivery.Cluster, more ...*delivery.Object) *Rights {
	explicit, all := map[string][]string{}, map[string]bool{"cluster-admin": true}
	var objects, roles, bindings []*delivery.Object
	for _, object := range c.Objects() {
		objects = append(objects, object)
	}
	for _, object := range append(objects, more...) {
		switch {
		case object.Is(group, "ClusterRole"):
			roles = append(roles, object)
		case object.Is(group, "ClusterRoleBinding"):
			bindings = append(bindings, object)
		}
	}
	for _, role := range roles {
		for _, part := range append(aggregated(role, roles), role) {
			explicit[role.GetName()] = append(explicit[role.GetName()], mayDo(part)...)
			all[role.GetName()] = all[role.GetName()] || slices.ContainsFunc(part.Entries("rules"), doesAll)
		}
	}
	r := &Rights{}
	for _, binding := range bindings {
		role := binding.Text("roleRef", "name")
		if len(explicit[role]) == 0 && !all[role] {
			continue
		}
		for _, subject := range binding.Entries("subjects") {
			r.granted = append(r.granted, grant{subject, role, explicit[role], len(explicit[role]) == 0})
		}
	}
	return r
}

// aggregated are the roles that become part of another one, by their labels.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
func aggregated(role *delivery.Object, all []*delivery.Object) (parts []*delivery.Object) {
	for _, entry := range role.Entries("aggregationRule", "clusterRoleSelectors") {
		text, _ := json.Marshal(entry.Object)
		var wanted metav1.LabelSelector
		if json.Unmarshal(text, &wanted) != nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(&wanted)
		for _, other := range all {
			if err == nil && other != role && selector.Matches(labels.Set(other.GetLabels())) {
				parts = append(parts, other)
			}
		}
	}
	return parts
}

// MakesCRDs is for a ClusterRole about CRDs, by name.
func MakesCRDs(object *delivery.Object) bool {
	return object.Is(group, "ClusterRole") && len(mayDo(object)) > 0
}

// mayDo is what a ClusterRole lets do with CRDs that it names, apart from reading. It is nothing if all is to change those that are there: webhooks have
// that for their certificates.
func mayDo(role *delivery.Object) (may []string) {
	rules := slices.DeleteFunc(role.Entries("rules"), func(rule *delivery.Object) bool { return !isAboutCRDs(rule) })
	if !slices.ContainsFunc(rules, makes) {
		return nil
	}
	for _, rule := range rules {
		for _, verb := range rule.Texts("verbs") {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				may = append(may, verb+" "+strings.Join(rule.Texts("resourceNames"), " "))
			}
		}
	}
	return may
}

func isAboutCRDs(rule *delivery.Object) bool {
	groups, resources := rule.Texts("apiGroups"), rule.Texts("resources")
	return slices.Contains(groups, crdGroup) && (slices.Contains(resources, resource) || slices.Contains(resources, "*")) ||
		slices.Contains(groups, "*") && slices.Contains(resources, resource)
}

// doesAll is for a rule about all objects.
func doesAll(rule *delivery.Object) bool {
	return slices.Contains(rule.Texts("apiGroups"), "*") && slices.Contains(rule.Texts("resources"), "*") && makes(rule)
}

// makes reports whether a rule has a verb for that, or for deleting. Names rule out the first: what is made has none yet.
func makes(rule *delivery.Object) bool {
	verbs := rule.Texts("verbs")
	canMake := slices.Contains(verbs, "create") && len(rule.Texts("resourceNames")) == 0
	return canMake || slices.Contains(verbs, "delete") || slices.Contains(verbs, "*")
}

// AreNone reports whether no program is known to have any.
func (r *Rights) AreNone() bool { return len(r.granted) == 0 }

// RoleOf is the ClusterRole by which a program may make CRDs, empty if none is known, and what it may do with CRDs by this one and others. An empty
// namespace is any. EndsByItself: a Job has no other use for the right to do all.
func (r *Rights) RoleOf(namespace, account string, endsByItself bool) (role string, may []string) {
	for _, g := range r.granted {
		if (!g.all || endsByItself) && isFor(g.subject, namespace, account) {
			role, may = cmp.Or(role, g.role), append(may, g.may...)
		}
	}
	slices.Sort(may)
	return role, slices.Compact(may)
}

func isFor(subject *delivery.Object, namespace, account string) bool {
	name, in := subject.Text("name"), subject.Text("namespace")
	switch subject.Text("kind") {
	case "ServiceAccount":
		return name == account && (in == namespace || in == "" || namespace == "")
	case "User":
		return name == "system:serviceaccount:"+namespace+":"+account
	case "Group":
		return slices.Contains([]string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + namespace}, name) || namespace == "" && strings.HasPrefix(name, "system:serviceaccounts:")
	}
	return false
}
