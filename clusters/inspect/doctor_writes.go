package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/doctor"
)

// ControllerUser is whom policies/admission let write as Moult: the ServiceAccount of clusters/base.
const ControllerUser = "system:serviceaccount:moult-system:moult-controller"

// readController reads what is known of the controller's writes to the status of the CRDs, without one of ours.
func (c *Cluster) readController(ctx context.Context, e Examination, p *doctor.ClusterState) {
	p.Controller.Refusals = c.refusals(ctx)
	user, not := e.Controller, ""
	if user == "" {
		user, not = ControllerUser, c.lacksController(ctx)
	}
	p.Controller.User = user
	if not != "" { // then RBAC and policies name no user
		p.Controller.Guards.Not = not
		for i := range p.CRDs {
			p.CRDs[i].Writable.Not = not
		}
		return
	}
	p.Controller.Guards = c.guards(ctx, e.LabelKey)
	c.askRBAC(ctx, user, p.CRDs)
}

// refusals are the controller's Events about writes that were refused. Events on what has no namespace are in default, and
// the API server keeps them for an hour.
func (c *Cluster) refusals(ctx context.Context) (known doctor.Known[[]doctor.Refusal]) {
	query := metav1.ListOptions{Limit: defaultPageSize, FieldSelector: "involvedObject.kind=CustomResourceDefinition,reason=" + v1alpha1.EventStatusRefused}
	events := c.core.Events(metav1.NamespaceDefault)
	err := each(ctx, c, query, func() { known.Value = nil }, events.List, func(event *corev1.Event) error {
		known.Value = append(known.Value, doctor.Refusal{CRD: event.InvolvedObject.Name, Last: lastSeen(event), Note: event.Message})
		return nil
	})
	if err != nil {
		known.Not = unread(err, "Events on CRDs", "list on events in namespace "+metav1.NamespaceDefault)
	}
	return known
}

// lastSeen looks at all places where the two APIs of Events tell it.
func lastSeen(event *corev1.Event) time.Time {
	last := event.LastTimestamp.Time
	if event.EventTime.After(last) {
		last = event.EventTime.Time
	}
	if s := event.Series; s != nil && s.LastObservedTime.After(last) {
		last = s.LastObservedTime.Time
	}
	return last
}

// lacksController says why nothing is known of the user that the controller is by default; empty if its ServiceAccount
// is there.
func (c *Cluster) lacksController(ctx context.Context) string {
	namespace, name, _ := serviceAccountOf(ControllerUser)
	err := c.retry(ctx, func(ctx context.Context) error {
		_, err := c.core.ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no ServiceAccount %s/%s; if the controller runs as another user, name it with --controller", namespace, name)
	case err != nil:
		return unread(err, fmt.Sprintf("ServiceAccount %s/%s", namespace, name), "get on serviceaccounts in namespace "+namespace+", or the controller's user with --controller")
	}
	return ""
}

// guards are the policies that let one user alone write. Before Kubernetes 1.30 there are none.
func (c *Cluster) guards(ctx context.Context, labelKey string) (known doctor.Known[[]doctor.Guard]) {
	var (
		policies []admissionv1.ValidatingAdmissionPolicy
		bindings []admissionv1.ValidatingAdmissionPolicyBinding
	)
	api, query := c.admission, metav1.ListOptions{Limit: defaultPageSize}
	err := each(ctx, c, query, func() { policies = nil }, api.ValidatingAdmissionPolicies().List, func(policy *admissionv1.ValidatingAdmissionPolicy) error {
		policies = append(policies, *policy)
		return nil
	})
	if err == nil {
		err = each(ctx, c, query, func() { bindings = nil }, api.ValidatingAdmissionPolicyBindings().List, func(binding *admissionv1.ValidatingAdmissionPolicyBinding) error {
			bindings = append(bindings, *binding)
			return nil
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		known.Not = unread(err, "admission policies", "list on validatingadmissionpolicies and validatingadmissionpolicybindings in admissionregistration.k8s.io")
	}
	known.Value = doctor.GuardsIn(policies, bindings, labelKey)
	return known
}

// askRBAC asks whether the user may write the status of all CRDs, and if not, of each.
func (c *Cluster) askRBAC(ctx context.Context, user string, crds []doctor.ExaminedCRD) {
	ofAll := c.mayWriteStatus(ctx, user, "")
	for i := range crds {
		crds[i].Writable = ofAll
		if ofAll.Not == "" && !ofAll.Value {
			crds[i].Writable = c.mayWriteStatus(ctx, user, crds[i].Name)
		}
	}
}

func (c *Cluster) mayWriteStatus(ctx context.Context, user, crd string) (known doctor.Known[bool]) {
	ask := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groupsOf(user), ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Subresource: "status", Name: crd, Verb: "patch",
		}},
	}
	var answer *authorizationv1.SubjectAccessReview
	err := c.retry(ctx, func(ctx context.Context) (err error) {
		answer, err = c.authorization.SubjectAccessReviews().Create(ctx, ask, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		known.Not = unread(err, "what "+user+" may do", "create on subjectaccessreviews in authorization.k8s.io, which writes nothing")
		return known
	}
	known.Value = answer.Status.Allowed
	return known
}

// groupsOf are those the API server puts a user into (k8s.io/apiserver/pkg/authentication/serviceaccount, MakeGroupNames).
func groupsOf(user string) []string {
	groups := []string{"system:authenticated"}
	if namespace, _, ok := serviceAccountOf(user); ok {
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return groups
}

// serviceAccountOf is the ServiceAccount behind a user's name.
func serviceAccountOf(user string) (namespace, name string, ok bool) {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(account, ":")
}
