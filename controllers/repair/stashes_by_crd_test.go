package repair_test

import (
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/controllers/repair"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// ours is a place as somebody writes it whose operator stashes its objects, and converts them as its CRD does.
const ours = `
name: our-revisions
title: our objects, stashed in ControllerRevisions
resources: [controllerrevisions.apps]
groups: [instancetype.kubevirt.io]
when: [{owners: [VirtualMachine.kubevirt.io]}]
fields: [{path: data, shape: object}]
effect: losesData
consequence: the copy cannot be read any more
clears: moult
remediation: let Moult move the copies
convert: crd
moveBy:
  successor: "{owner}-{name}-{version}-{uid}-{generation}"
  references:
    - {resource: virtualmachines.kubevirt.io, paths: [spec.instancetype.revisionName]}
  evidence: [https://example.org/ours]
evidence: [https://example.org/ours]
tried: here
`

// newWorldOfOurs has a webhook between v1alpha2 and v1beta1, which calls spec.size spec.replicas, and knows no spec.old.
func newWorldOfOurs(t *testing.T, change ...string) (w *stashWorld, hook *webhooks.Conversion, run func()) {
	t.Helper()
	hook, err := webhooks.NewConversion()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	hook.Rename("v1beta1", "size", "replicas")
	w = newStashWorld(t, func(b *builders.CRDBuilder) {
		b.Schema("v1alpha2", `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, kept: {type: string}, old: {type: string}}}}}`).
			Schema("v1beta1", `{type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}, kept: {type: string}}}}}`).
			ConversionWebhook(hook.URL(), hook.CABundle())
	})
	places, err := survivors.Load(fstest.MapFS{"our-revisions.yaml": {Data: []byte(strings.NewReplacer(change...).Replace(ours))}})
	w.Expect(err).NotTo(HaveOccurred())
	cluster, err := inspect.Connect(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	return w, hook, func() {
		running.Repairing(t, cp.Config, running.Quick(stashGroup),
			removal.Options{SurveyInterval: interval, References: looking{cluster, places}},
			repair.Options{Interval: interval, Cluster: inspect.Pages{Cluster: cluster}, Places: places, NewConverter: func() embeddedcopies.Converter { return &converters.Copies{GetCRD: cluster.GetCRD} }})
	}
}

// stashesOurs makes a VirtualMachine and the revision that it owns and names, with a spec.
func (w *stashWorld) stashesOurs(name, spec string) {
	w.t.Helper()
	vm := w.creates(vms, `{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: `+name+`}, spec: {instancetype: {revisionName: `+name+`-old}}}`)
	w.creates(revisions, `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: `+name+`-old,
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: `+name+`, uid: `+string(vm.GetUID())+`, controller: true}]}, revision: 0,
  data: {apiVersion: `+stashGroup+`/v1alpha2, kind: VirtualMachineInstancetype, metadata: {name: small, uid: u1, generation: 1}, spec: `+spec+`}}`)
}

func TestCopiesAreConvertedByTheWebhookOfTheirCRD(t *testing.T) {
	w, _, run := newWorldOfOurs(t)
	w.stashesOurs("rose", `{size: 3, kept: "yes"}`)
	w.asks(v1alpha1.NoStashes)
	run()
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(w.names("rose")()).To(Equal(successorOf("rose")))
	w.Expect(w.revisions()).To(ConsistOf(successorOf("rose")))
	made, err := w.client.Resource(revisions).Namespace(w.namespace).Get(t.Context(), successorOf("rose"), metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(made.Object["data"]).To(And(HaveKeyWithValue("apiVersion", stashGroup+"/v1beta1"),
		HaveKeyWithValue("spec", map[string]any{"replicas": int64(3), "kept": "yes"})))
}

func TestACopyThatItsCRDWouldDropAFieldOfIsLeft(t *testing.T) {
	w, hook, run := newWorldOfOurs(t)
	w.stashesOurs("rose", `{size: 3, old: "yes"}`)
	w.asks(v1alpha1.NoStashes)
	run()
	w.Eventually(w.told, soon).Should(ContainElement(And(HavePrefix("Warning StashesLeft: 1 stashed copy is left"), ContainSubstring("at v1beta1 it would lose spec.old"))))
	w.Eventually(w.Verdict, soon).Should(HavePrefix("False StillStashed"))
	w.Expect(w.revisions()).To(ConsistOf("rose-old"))

	w.Expect(hook.Down()).To(Succeed())
	w.stashesOurs("tulip", `{size: 1}`)
	w.Eventually(w.told, soon).Should(ContainElement(And(HavePrefix("Warning StashesLeft: 2 stashed copies are left"), ContainSubstring("the webhook cannot be reached"))))
	w.Expect(hook.Up()).To(Succeed())
	w.Eventually(w.names("tulip"), soon).Should(Equal(successorOf("tulip")), "it is tried again")
	w.Expect(w.names("rose")()).To(Equal("rose-old"))
}

// One owner may have stashed one generation of one object at two versions.
func TestTwoCopiesOfOneGenerationGetOneSuccessor(t *testing.T) {
	w, _, run := newWorldOfOurs(t)
	w.stashesOurs("rose", `{size: 3}`)
	first, err := w.client.Resource(revisions).Namespace(w.namespace).Get(t.Context(), "rose-old", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	second := first.DeepCopy()
	second.SetName("rose-older")
	second.SetUID("")
	second.SetResourceVersion("")
	_, err = w.client.Resource(revisions).Namespace(w.namespace).Create(t.Context(), second, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.asks(v1alpha1.NoStashes)
	run()
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(w.revisions()).To(ConsistOf(successorOf("rose")))
}

// A place of somebody's own may misspell what names its copies: then it is not known what does.
func TestNothingIsDeletedWhereWhatMayNameItIsNotThere(t *testing.T) {
	for name, resource := range map[string]string{"misspelt": "virtualmachine.kubevirt.io", "without a namespace": "customresourcedefinitions.apiextensions.k8s.io, paths: [metadata.name]}\n    - {resource: virtualmachines.kubevirt.io"} {
		t.Run(name, func(t *testing.T) {
			w, _, run := newWorldOfOurs(t, "resource: virtualmachines.kubevirt.io", "resource: "+resource)
			w.stashesOurs("rose", `{size: 3}`)
			w.asks(v1alpha1.NoStashes)
			run()
			w.Eventually(w.told, soon).Should(ContainElement(HavePrefix("Warning StashesLeft: 1 stashed copy is left")))
			w.Expect(w.revisions()).To(ContainElement("rose-old"))
		})
	}
}

// What names a copy may be an object of a CRD, and a write stores it at the storage version of that one.
func TestACopyThatIsNamedByAnObjectThatWouldLoseAFieldIsLeft(t *testing.T) {
	w, _, run := newWorldOfOurs(t)
	named := running.WitnessOf(t, cp, vms.GroupResource())
	named.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		old := *crd.Spec.Versions[0].DeepCopy()
		old.Name = "v1alpha3"
		crd.Spec.Versions[0].Storage = false
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"instancetype": {Type: "object", XPreserveUnknownFields: new(true)}}},
		}}
		crd.Spec.Versions = append(crd.Spec.Versions, old)
	})
	before := vms.GroupResource().WithVersion("v1alpha3")
	w.stashesOurs("rose", `{size: 3}`)
	_, err := w.client.Resource(before).Namespace(w.namespace).Patch(t.Context(), "rose", types.MergePatchType, []byte(`{"spec": {"old": "precious"}}`), metav1.PatchOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	named.Flip("v1")
	w.asks(v1alpha1.NoStashes)
	run()
	w.Eventually(w.told, soon).Should(ContainElement(And(HavePrefix("Warning StashesLeft: 1 stashed copy is left"),
		ContainSubstring("rose, which names it, would lose fields: v1 does not have spec.old"))))
	w.Expect(w.names("rose")()).To(Equal("rose-old"))

	named.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AllowFieldLossAnnotation, "spec.old")
	})
	w.Eventually(w.names("rose"), soon).Should(Equal(successorOf("rose")), "the CRD lets it go")
}
