package rbac

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/survivors"
)

// built are the CRDs that the paths build, each once: the last one that has a name counts.
func (r *command) built(ctx context.Context, paths []string, stdin io.Reader) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, path := range paths {
		built, err := input.AnyCRDs(ctx, path, stdin)
		if err != nil {
			return nil, err
		}
		for _, crd := range built {
			label := crd.Labels[r.LabelKey]
			if label == v1alpha1.MigrateLabelExcluded && !r.owners || r.optedIn && label != v1alpha1.MigrateLabelValue {
				continue
			}
			if err := grantable(crd); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			found[crd.Name] = crd
		}
	}
	if len(found) == 0 {
		return nil, errors.New(r.noCRD())
	}
	return slices.Collect(maps.Values(found)), nil
}

// grantable refuses what no API server accepts as a CRD: for RBAC, the group "" has Secrets, and * is everything. The rules
// are those of ValidateCustomResourceDefinition (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation).
func grantable(crd *apiextensionsv1.CustomResourceDefinition) error {
	group, plural := crd.Spec.Group, crd.Spec.Names.Plural
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("CRD %q is none that an API server accepts, so nothing is granted: "+format+"; correct it, or leave it out", append([]any{crd.Name}, args...)...)
	}
	if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 {
		return refuse("spec.group %q is no domain: %s", group, wrong[0])
	}
	if !strings.Contains(group, ".") {
		return refuse("spec.group %q is a domain without a dot", group)
	}
	if wrong := validation.IsDNS1035Label(plural); len(wrong) > 0 {
		return refuse("spec.names.plural %q is no name: %s", plural, wrong[0])
	}
	if crd.Name != plural+"."+group {
		return refuse("its name has to be %q, of spec.names.plural and spec.group", plural+"."+group)
	}
	if servedByKubernetes(group) {
		return fmt.Errorf("CRD %q has the group %s, which Kubernetes itself serves, so nothing is granted; leave it out", crd.Name, group)
	}
	return nil
}

// servedByKubernetes reports whether the resources of a group are no custom ones. Other groups that end in k8s.io, as
// that of the Gateway API, are made of CRDs.
func servedByKubernetes(group string) bool {
	return clientgoscheme.Scheme.IsGroupRegistered(group) || group == apiextensionsv1.GroupName || group == "apiregistration.k8s.io"
}

func (r *command) noCRD() string {
	if r.optedIn {
		return "there is no CustomResourceDefinition with the label " + r.LabelKey + "; leave out --opted-in, or name the folder in which they are labelled"
	}
	return "there is no CustomResourceDefinition to grant anything for; name the folder that builds some, or pipe what renders them into `" + r.Name + " rbac -`"
}

// role grants what a walk does. It lists, and it looks again at objects that a write left in doubt. It writes to the
// status where there is one, because that costs the API server less and passes by most admission webhooks. It writes to
// the object itself where there is none or managedFields have to be moved.
func (r *command) role(all []*apiextensionsv1.CustomResourceDefinition) *rbacv1.ClusterRole {
	objects, statuses := map[string][]string{}, map[string][]string{}
	for _, crd := range all {
		group, plural := crd.Spec.Group, crd.Spec.Names.Plural
		objects[group] = append(objects[group], plural)
		if hasStatus(crd) {
			statuses[group] = append(statuses[group], plural+"/status")
		}
	}
	role := r.empty()
	for _, group := range slices.Sorted(maps.Keys(objects)) {
		role.Rules = append(role.Rules, rule(group, objects[group], "get", "list", "patch"))
		if len(statuses[group]) > 0 {
			role.Rules = append(role.Rules, rule(group, statuses[group], "patch"))
		}
	}
	return role
}

func (r *command) empty() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: r.name, Labels: map[string]string{aggregateLabel: r.aggregateTo}},
	}
}

func rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Sorted(slices.Values(resources)), Verbs: verbs}
}

// hasStatus reports whether the storage version has a status subresource.
func hasStatus(crd *apiextensionsv1.CustomResourceDefinition) bool {
	resources, err := apihelpers.GetSubresourcesForVersion(crd, crds.StorageVersion(crd))
	return err == nil && resources != nil && resources.Status != nil
}

// dependents are Kubernetes' own resources in namespaces, by group, as Kubernetes 1.36 serves them: what objects of
// CRDs own. Without Events, which have no owners.
var dependents = map[string][]string{
	"": {"configmaps", "endpoints", "limitranges", "persistentvolumeclaims", "pods", "podtemplates", "replicationcontrollers", "resourcequotas",
		"secrets", "serviceaccounts", "services"},
	"apps":                      {"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"},
	"autoscaling":               {"horizontalpodautoscalers"},
	"batch":                     {"cronjobs", "jobs"},
	"coordination.k8s.io":       {"leases"},
	"discovery.k8s.io":          {"endpointslices"},
	"networking.k8s.io":         {"ingresses", "networkpolicies"},
	"policy":                    {"poddisruptionbudgets"},
	"rbac.authorization.k8s.io": {"rolebindings", "roles"},
	"resource.k8s.io":           {"resourceclaims", "resourceclaimtemplates"},
	"storage.k8s.io":            {"csistoragecapacities"},
}

// others are the rest of Kubernetes' own, which has to be looked at to know that no reference is left. To move one that is there,
// somebody has to grant patch by name: with it on cluster roles or admission webhooks there is little that a client may not do.
var others = map[string][]string{
	"": {"events", "namespaces", "nodes", "persistentvolumes"},
	"admissionregistration.k8s.io": {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"},
	"apiextensions.k8s.io":         {"customresourcedefinitions"},
	"apiregistration.k8s.io":       {"apiservices"},
	"certificates.k8s.io":          {"certificatesigningrequests", "clustertrustbundles", "podcertificaterequests"},
	"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
	"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
	"node.k8s.io":                  {"runtimeclasses"},
	"rbac.authorization.k8s.io":    {"clusterrolebindings", "clusterroles"},
	"resource.k8s.io":              {"deviceclasses", "devicetaintrules", "resourceslices"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"storagemigration.k8s.io":      {"storageversionmigrations"},
	"storage.k8s.io":               {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
}

// repairRole grants what moving owner references takes: to list everything, and to write what may be owned, which the objects of
// the CRDs may be, too. All that is written is read whole before, for the fields that it would lose.
func (r *command) repairRole(crds []*apiextensionsv1.CustomResourceDefinition) *rbacv1.ClusterRole {
	custom := map[string][]string{}
	for _, crd := range crds {
		custom[crd.Spec.Group] = append(custom[crd.Spec.Group], crd.Spec.Names.Plural)
	}
	role := r.empty()
	for _, group := range slices.Sorted(maps.Keys(dependents)) {
		role.Rules = append(role.Rules, rule(group, dependents[group], "get", "list", "patch"))
	}
	for _, group := range slices.Sorted(maps.Keys(custom)) {
		role.Rules = append(role.Rules, rule(group, custom[group], "get", "list", "patch"))
	}
	for _, group := range slices.Sorted(maps.Keys(others)) {
		role.Rules = append(role.Rules, rule(group, others[group], "list"))
	}
	return role
}

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
