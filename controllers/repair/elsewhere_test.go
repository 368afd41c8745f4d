package repair_test

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Somebody has put an object into etcd under a key that is not that of its name. It is listed, and cannot be written by its name.
func TestAReferenceInAnObjectUnderTheKeyOfAnotherNameIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	things := running.Install(t, cp, builders.CRD(builders.UniqueGroup(t), "things").Versions("v1").Storage("v1").Build())
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": things.GR.Group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "bench"}}}
	thing.SetOwnerReferences([]metav1.OwnerReference{w.at("v1alpha1", w.owner)})
	_, err := things.Objects("v1").Create(t.Context(), thing, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	raw, err := cp.Etcd().Raw(t.Context(), things.GR, "default", "bench")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(cp.Etcd().Put(t.Context(), things.GR, "default", "key", bytes.ReplaceAll(raw, []byte("bench"), []byte("fence")))).To(Succeed())
	w.Ask()
	w.runs(cp.Config, time.Second)
	w.Eventually(w.events, soon).Should(ContainElement(And(HavePrefix("Warning OwnerReferencesLeft: "), ContainSubstring("1 were refused"), ContainSubstring("look in etcd for mod_revision"))))
}

// The place of the copies is a custom resource here, whose objects etcd has as JSON.
func TestACopyUnderTheKeyOfAnotherNameIsNamed(t *testing.T) {
	group := builders.UniqueGroup(t)
	w, _, run := newWorldOfOurs(t, "controllerrevisions.apps", "stashes."+group)
	crd := builders.CRD(group, "stashes").Versions("v1").Build()
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	stashes := running.Install(t, cp, crd)
	vm := w.creates(vms, `{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: rose}, spec: {instancetype: {revisionName: rose-old}}}`)
	at := stashes.GR.WithVersion("v1")
	w.creates(at, `{apiVersion: `+group+`/v1, kind: `+crd.Spec.Names.Kind+`, metadata: {name: rose-old,
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: rose, uid: `+string(vm.GetUID())+`, controller: true}]},
  data: {apiVersion: `+stashGroup+`/v1alpha2, kind: VirtualMachineInstancetype, metadata: {name: small, uid: u1, generation: 1}, spec: {size: 3}}}`)
	w.puts(stashes.GR, "rose-old", "rose-odd")
	w.asks(v1alpha1.NoStashes)
	run()
	w.Eventually(w.told, soon).Should(ContainElement(And(HavePrefix("Warning StashesLeft: 1 stashed copy is left"),
		ContainSubstring("1 were refused"), ContainSubstring("rose-odd"), ContainSubstring("look in etcd for mod_revision"))))
	w.Expect(w.names("rose")()).To(Equal(successorOf("rose")), "that under its own name is moved")
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
	w.Expect(w.Verdict()).To(HavePrefix("False StillStashed"))
}

func TestACopyThatAnObjectUnderTheKeyOfAnotherNameNamesIsLeft(t *testing.T) {
	w := newStashWorld(t)
	w.vm("rose")
	w.puts(vms.GroupResource(), "rose", "pink")
	w.asks(v1alpha1.NoStashes)
	w.runs(cp.Config, 0)
	w.Eventually(w.told, soon).Should(ContainElement(And(HavePrefix("Warning StashesLeft: 1 stashed copy is left"),
		ContainSubstring("/pink names it: its key in etcd is not that of its name"), ContainSubstring("look in etcd for mod_revision"))))
	w.Expect(w.names("rose")()).To(Equal(successorOf("rose")))
	w.Expect(w.revisions()).To(ConsistOf("rose-old", successorOf("rose")))
}

// puts an object into etcd once more, with another name, which is not that of its key.
func (w *stashWorld) puts(gr schema.GroupResource, name, other string) {
	w.t.Helper()
	raw, err := cp.Etcd().Raw(w.t.Context(), gr, w.namespace, name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(cp.Etcd().Put(w.t.Context(), gr, w.namespace, "key", bytes.ReplaceAll(raw, []byte(`"name":"`+name+`"`), []byte(`"name":"`+other+`"`)))).To(Succeed())
}
