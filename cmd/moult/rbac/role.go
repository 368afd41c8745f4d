package rbac

import (
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
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/input"
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
