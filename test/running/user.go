package running

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// User is a client configuration of a user who may do what the rules say and nothing else, in the whole cluster. The
// role is called as the user is; give it other rules with Allow.
func User(t testing.TB, admin *rest.Config, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	g, ctx := NewWithT(t), context.Background()
	rbac := kubernetes.NewForConfigOrDie(admin).RbacV1()
	_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}) })
	_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}) })

	inForce(g, admin, name, rules)
	config := rest.CopyConfig(admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	return config
}

// allowed reports whether the API server lets a user do this to the first resource of a rule, or to its first path.
func allowed(ctx context.Context, admin *rest.Config, user string, rule rbacv1.PolicyRule, verb string) (bool, error) {
	asked := authorizationv1.SubjectAccessReviewSpec{User: user}
	if len(rule.NonResourceURLs) > 0 {
		asked.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: rule.NonResourceURLs[0], Verb: verb}
	} else {
		resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
		asked.ResourceAttributes = &authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: resource, Subresource: subresource, Verb: verb}
		if len(rule.ResourceNames) > 0 {
			asked.ResourceAttributes.Name = rule.ResourceNames[0]
		}
	}
	review, err := kubernetes.NewForConfigOrDie(admin).AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: asked}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// Allow replaces a user's rules, and returns when the new ones are in force.
func Allow(t testing.TB, admin *rest.Config, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	g, ctx := NewWithT(t), context.Background()
	roles := kubernetes.NewForConfigOrDie(admin).RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, name, metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	role.Rules = rules
	_, err = roles.Update(ctx, role, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	inForce(g, admin, name, rules)
}

// inForce waits for the API server to see a new role.
func inForce(g Gomega, admin *rest.Config, user string, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			g.Eventually(func() (bool, error) { return allowed(context.Background(), admin, user, rule, verb) }, Soon).Should(BeTrue(), "the API server takes a moment to see a new role")
		}
	}
}

// MigrationRules are what the migration reconciler needs, apart from the CRDs' objects.
func MigrationRules(more ...rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return append([]rbacv1.PolicyRule{
		Rule(apiextensionsv1.GroupName, "customresourcedefinitions", "get", "list", "watch"),
		Rule(apiextensionsv1.GroupName, "customresourcedefinitions/status", "patch"),
		Rule("apiregistration.k8s.io", "apiservices", "get"),
		Rule("events.k8s.io", "events", "create", "patch"),
	}, more...)
}

// MoultRules are what both reconcilers need, apart from the CRDs' objects.
func MoultRules(more ...rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return MigrationRules(append([]rbacv1.PolicyRule{
		Rule(v1alpha1.GroupVersion.Group, "versionremovals", "get", "list", "watch"),
		Rule(v1alpha1.GroupVersion.Group, "versionremovals/status", "patch"),
	}, more...)...)
}

// Rule allows verbs on one resource.
func Rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
