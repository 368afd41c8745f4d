package install

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// mayDoNothingElse asks the API server what the ServiceAccount may do, and then tries what it must not.
func mayDoNothingElse(t *testing.T, moult *Installation, group string) {
	t.Helper()
	g := NewWithT(t)
	objects := []string{
		"get,list,patch gadgets." + group, "patch gadgets/status." + group,
		"get,list,patch widgets." + group, "patch widgets/status." + group,
		"get,list,watch customresourcedefinitions.apiextensions.k8s.io", "patch customresourcedefinitions/status.apiextensions.k8s.io",
		"get apiservices.apiregistration.k8s.io",
		"get,list,patch,watch versionremovals.moult.dev", "patch versionremovals/status.moult.dev",
		"create,patch events.", "create,patch events.events.k8s.io", "list mutatingadmissionpolicies.admissionregistration.k8s.io", "list mutatingwebhookconfigurations.admissionregistration.k8s.io",
	}
	if cp.Minor >= 37 { // every ServiceAccount may, by Kubernetes' own role
		objects = append(objects, "get,list,watch clustertrustbundles.certificates.k8s.io")
	}
	g.Expect(allowed(t, moult, "default")).To(ConsistOf(objects))
	g.Expect(allowed(t, moult, moult.Deployment.Namespace)).To(ConsistOf(append(objects, "create,get,update leases.coordination.k8s.io")))

	widget, crd := "/apis/"+group+"/v1/namespaces/default/widgets", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for name, c := range map[string]struct {
		method, path string
		may          bool
	}{
		"rewrite an object":                       {"PATCH", widget + "/object-00000", true},
		"rewrite it at its status":                {"PATCH", widget + "/object-00000/status", true},
		"write the status of a CRD":               {"PATCH", crd + "/widgets." + group + "/status", true},
		"delete an object":                        {"DELETE", widget + "/object-00000", false},
		"delete all objects":                      {"DELETE", widget, false},
		"replace an object":                       {"PUT", widget + "/object-00000", false},
		"create an object":                        {"POST", widget, false},
		"patch an object that it was not granted": {"PATCH", "/apis/" + group + "/v1/namespaces/default/gizmos/object-00000", false},
		"list objects that it was not granted":    {"GET", "/apis/" + group + "/v1/gizmos", false},
		"write the spec of a CRD":                 {"PATCH", crd + "/widgets." + group, false},
		"replace a CRD":                           {"PUT", crd + "/widgets." + group, false},
		"replace a CRD's status":                  {"PUT", crd + "/widgets." + group + "/status", false},
		"create a CRD":                            {"POST", crd, false},
		"delete a CRD":                            {"DELETE", crd + "/widgets." + group, false},
		"delete a gate":                           {"DELETE", "/apis/moult.dev/v1alpha1/namespaces/default/versionremovals/x", false},
		"create a gate":                           {"POST", "/apis/moult.dev/v1alpha1/namespaces/default/versionremovals", false},
		"read Secrets":                            {"GET", "/api/v1/secrets", false},
		"read a Secret of its own namespace":      {"GET", "/api/v1/namespaces/" + moult.Deployment.Namespace + "/secrets/x", false},
		"read ConfigMaps":                         {"GET", "/api/v1/configmaps", false},
		"read Events":                             {"GET", "/api/v1/events", false},
		"patch a Deployment":                      {"PATCH", "/apis/apps/v1/namespaces/" + moult.Deployment.Namespace + "/deployments/" + moult.Deployment.Name, false},
		"create a Pod":                            {"POST", "/api/v1/namespaces/default/pods", false},
		"get itself a token":                      {"POST", "/api/v1/namespaces/" + moult.Deployment.Namespace + "/serviceaccounts/moult-controller/token", false},
		"give itself more rights":                 {"PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/moult-controller", false},
		"bind a role":                             {"POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", false},
		"take another component's lease":          {"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler", false},
		"delete a lease":                          {"DELETE", "/apis/coordination.k8s.io/v1/namespaces/" + moult.Deployment.Namespace + "/leases/x", false},
		"read an APIService":                      {"GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1." + group, true},
		"hand a group over to another server":     {"PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/v1." + group, false},
		"remove the policies that guard CRDs":     {"DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/x", false},
		"make the lane wider":                     {"PATCH", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/moult-objects", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tried(t, cp.Config, c.method, c.path)).NotTo(Equal(http.StatusForbidden), "an administrator may")
			if c.may {
				g.Expect(tried(t, moult.Config(), c.method, c.path)).To(Equal(http.StatusOK))
			} else {
				g.Expect(tried(t, moult.Config(), c.method, c.path)).To(Equal(http.StatusForbidden))
			}
		})
	}
}

// tried is the code of the answer. Nothing is changed: what is allowed is a dry run, or refused for what it says.
func tried(t *testing.T, config *rest.Config, method, path string) int {
	t.Helper()
	g := NewWithT(t)
	transport, err := rest.TransportFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	body := io.Reader(strings.NewReader("{}"))
	if method == http.MethodDelete {
		body = http.NoBody // with one, the API server looks for dryRun there
	}
	request, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(config.Host, "/")+path+"?dryRun=All", body)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := transport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	return answer.StatusCode
}

// allowed is what the ServiceAccount may do in a namespace, as in "get,list widgets.example.com", apart from what every
// user may ask about itself.
func allowed(t *testing.T, moult *Installation, namespace string) (rules []string) {
	t.Helper()
	g := NewWithT(t)
	review, err := kubernetes.NewForConfigOrDie(moult.Config()).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(review.Status.Incomplete).To(BeFalse())
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if !strings.HasPrefix(resource, "selfsubject") {
					rules = append(rules, strings.Join(slices.Sorted(slices.Values(rule.Verbs)), ",")+" "+resource+"."+group)
				}
			}
		}
	}
	return rules
}
