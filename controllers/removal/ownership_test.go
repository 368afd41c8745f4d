package removal_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// A gate does not open on a loss that is not agreed to, and a VersionRemoval is not the place to agree: it is a
// tenant's.
func TestTheGateStaysShutWhereOwnershipWouldBeLost(t *testing.T) {
	t.Parallel()
	hook := webhooks.Converting(t)
	hook.Rename("v1", "size", "capacity")
	hook.Refuse(func(r *http.Request) bool { return r.UserAgent() == "moult" })
	g, builder := widgets(t)
	crd := builder.ConversionWebhook(hook.URL(), hook.CABundle()).Build()
	of := crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	of["capacity"] = of["size"]
	delete(of, "size")
	running.Install(t, cp, crd)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	object.SetAPIVersion(g.GR.Group + "/v1alpha1")
	object.SetKind("Widget")
	object.SetName("one")
	g.Eventually(func() error {
		_, err := g.Objects("v1alpha1").Apply(g.ctx, "one", object, metav1.ApplyOptions{FieldManager: "kustomize-controller"})
		return err
	}, soon).Should(Succeed())
	g.Flip("v1")
	g.Ask()
	g.moult()
	g.eventually("False OwnershipWouldBeLost Reconciling")
	g.Expect(g.Stored()).To(Equal(map[string]int{"v1": 1}), "what is stored is another question")
	g.Expect(g.Message()).To(ContainSubstring("field manager kustomize-controller (Apply) would no longer own 1 fields of 1 objects"))
	g.Eventually(g.blockers, soon).Should(ConsistOf(And(
		HaveField("Message", And(ContainSubstring("1 fields of 1 objects"), Not(ContainSubstring("default/one")))),
		HaveField("Action", ContainSubstring(v1alpha1.AllowOwnershipLossAnnotation)))), "the object is another namespace's")
	g.Eventually(func() string { return g.eventsOnTheCRD(v1alpha1.ReasonOwnershipWouldBeLost) }, soon).
		Should(And(ContainSubstring("spec.size of default/one"), ContainSubstring("it answers 403")))

	allow := map[string]string{v1alpha1.AllowOwnershipLossAnnotation: "v1alpha1"}
	g.Expect(g.client.Patch(g.ctx, g.Removal(), mergePatch(`{"metadata":{"annotations":{"`+v1alpha1.AllowOwnershipLossAnnotation+`":"v1alpha1"}}}`))).To(Succeed())
	g.queued()
	g.Expect(g.Verdict()).To(HavePrefix("False "), "not by a tenant's word")

	g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Annotations = allow })
	g.eventually("True SafeToRemove")
	g.Eventually(func() []v1alpha1.Blocker { return g.Removal().Status.Warnings }, soon).Should(ContainElement(And(
		HaveField("Kind", v1alpha1.OwnershipLost), HaveField("Message", ContainSubstring("kustomize-controller (Apply) no longer owns 1 fields of 1 objects")))))
}

// eventsOnTheCRD are the messages of its Events of a reason. Events of cluster-scoped objects lie in the namespace default.
func (g *gate) eventsOnTheCRD(reason string) (messages string) {
	g.t.Helper()
	list := &eventsv1.EventList{}
	g.Expect(g.client.List(g.ctx, list, client.InNamespace("default"))).To(Succeed())
	for _, e := range list.Items {
		if e.Regarding.Name == g.GR.String() && e.Reason == reason {
			messages += e.Note + "\n"
		}
	}
	return messages
}
