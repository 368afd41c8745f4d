package kubevirt

import (
	"cmp"
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"kubevirt.io/api/instancetype/v1alpha1"
	"kubevirt.io/api/instancetype/v1alpha2"
	"kubevirt.io/api/instancetype/v1beta1"
)

// vm is a VirtualMachine, and what it resolved to before.
type vm struct {
	name       string
	want       map[string]any // by the field: instancetype, preference
	atV1beta1  bool
	snapshot   string
	wantShot   map[string]any
	fromStatus bool
}

// copies makes the two payloads of the i-th VirtualMachine, at one version after the other.
func copies(g *WithT, i int) (instancetype, preference []byte, version string) {
	fill := random(int64(i))
	switch version = []string{"bare", "v1alpha1", "v1alpha2", "v1beta1"}[i%4]; version {
	case "bare":
		a, b := &v1alpha1.VirtualMachineInstancetypeSpec{}, &v1alpha1.VirtualMachinePreferenceSpec{}
		fill.Fill(a)
		fill.Fill(b)
		return withoutKind(g, a), withoutKind(g, b), version
	case "v1alpha1":
		a, b := &v1alpha1.VirtualMachineClusterInstancetype{}, &v1alpha1.VirtualMachinePreference{}
		fill.Fill(a)
		fill.Fill(b)
		return payload(g, "v1alpha1 VirtualMachineClusterInstancetype", a), payload(g, "v1alpha1 VirtualMachinePreference", b), version
	case "v1alpha2":
		a, b := &v1alpha2.VirtualMachineInstancetype{}, &v1alpha2.VirtualMachineClusterPreference{}
		fill.Fill(a)
		fill.Fill(b)
		return payload(g, "v1alpha2 VirtualMachineInstancetype", a), payload(g, "v1alpha2 VirtualMachineClusterPreference", b), version
	default:
		a, b := &v1beta1.VirtualMachineInstancetype{}, &v1beta1.VirtualMachinePreference{}
		fill.Fill(a)
		fill.Fill(b)
		return payload(g, "v1beta1 VirtualMachineInstancetype", a), payload(g, "v1beta1 VirtualMachinePreference", b), version
	}
}

// makesVM makes the i-th VirtualMachine with its two revisions, named as KubeVirt of the time has named them.
func (w *world) makesVM(i int) *vm {
	w.t.Helper()
	m := &vm{name: fmt.Sprintf("vm-%03d", i), want: map[string]any{}, atV1beta1: i%4 == 3, fromStatus: i%3 == 1 && i%4 != 0}
	object := w.makes(vms, m.name, map[string]any{"spec": map[string]any{"running": false}})
	a, b, version := copies(w.WithT, i)
	spec, status := map[string]any{}, map[string]any{}
	for field, raw := range map[string][]byte{"instancetype": a, "preference": b} {
		var labels map[string]string
		if version != "bare" && i%8 != 1 { // some of v1alpha1 are from before 1.0
			labels = labelsOf(raw)
		}
		name := fmt.Sprintf("%s-%s-%s-%d", m.name, field, version, i)
		w.stash(name, raw, object, labels)
		spec[field] = map[string]any{"name": "small"}
		if !m.fromStatus {
			spec[field].(map[string]any)["revisionName"] = name
		}
		if m.fromStatus || i%3 == 2 {
			status[field+"Ref"] = map[string]any{"name": "small", "controllerRevisionRef": map[string]any{"name": name}}
		}
		want, err := resolved(raw)
		w.Expect(err).NotTo(HaveOccurred())
		m.want[field] = want
	}
	object.Object["spec"] = spec
	object, err := w.dynamic.Resource(vms).Namespace(w.namespace).Update(w.t.Context(), object, metav1.UpdateOptions{FieldManager: "virt-controller"})
	w.Expect(err).NotTo(HaveOccurred())
	if len(status) > 0 {
		object.Object["status"] = status
		_, err = w.dynamic.Resource(vms).Namespace(w.namespace).UpdateStatus(w.t.Context(), object, metav1.UpdateOptions{FieldManager: "virt-controller"})
		w.Expect(err).NotTo(HaveOccurred())
	}
	return m
}

// takesSnapshot does what virt-controller does with the revisions (pkg/storage/snapshot/source.go): copies that the snapshot
// owns, which the VirtualMachine in the content names.
func (w *world) takesSnapshot(m *vm) {
	w.t.Helper()
	m.snapshot, m.wantShot = "snap-of-"+m.name, map[string]any{}
	snapshot := w.makes(snapshots, m.snapshot, map[string]any{
		"spec": map[string]any{"source": map[string]any{"kind": "VirtualMachine", "name": m.name}}, "status": map[string]any{"phase": "Succeeded", "readyToUse": true},
	})
	object := w.now(vms, m.name)
	spec := map[string]any{}
	for _, field := range []string{"instancetype", "preference"} {
		old := w.revision(cmp.Or(text(object, "spec."+field+".revisionName"), text(object, "status."+field+"Ref.controllerRevisionRef.name")))
		name := strings.Replace(old.Name, m.name, m.snapshot, 1)
		w.stash(name, old.Data.Raw, snapshot, old.Labels)
		spec[field] = map[string]any{"name": "small", "revisionName": name}
		m.wantShot[field] = m.want[field]
	}
	w.makes(contents, "content-of-"+m.name, map[string]any{"spec": map[string]any{
		"virtualMachineSnapshotName": m.snapshot,
		"source":                     map[string]any{"virtualMachine": map[string]any{"metadata": map[string]any{"name": m.name}, "spec": spec}},
	}})
}

// expectResolves reports whether a VirtualMachine gets what it got before, by each of its fields.
func (w *world) expectResolves(u *unstructured.Unstructured, under string, want map[string]any) {
	w.t.Helper()
	for field, object := range want {
		n := 0
		for _, path := range []string{"spec." + field + ".revisionName", "status." + field + "Ref.controllerRevisionRef.name"} {
			name := text(u, under+path)
			if name == "" {
				continue
			}
			n++
			r := w.revision(name)
			w.Expect(r).NotTo(BeNil(), "%s names %s at %s, which does not exist", u.GetName(), name, under+path)
			got, err := resolved(r.Data.Raw)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(equality.Semantic.DeepEqual(got, object)).To(BeTrue(), "%s: %s is another object", u.GetName(), name)
		}
		w.Expect(n).NotTo(BeZero())
	}
}

func (w *world) expectAllResolve(all []*vm) {
	w.t.Helper()
	for _, m := range all {
		w.expectResolves(w.now(vms, m.name), "", m.want)
		if m.snapshot != "" {
			w.expectResolves(w.now(contents, "content-of-"+m.name), "spec.source.virtualMachine.", m.wantShot)
		}
	}
}

// restores does what virt-controller does (pkg/storage/snapshot/restore.go): the revision that is there if it is equal, else a
// copy of the snapshot's.
func (w *world) restores(m *vm) {
	w.t.Helper()
	content, object := w.now(contents, "content-of-"+m.name), w.now(vms, m.name)
	spec := map[string]any{}
	for _, field := range []string{"instancetype", "preference"} {
		from := w.revision(text(content, "spec.source.virtualMachine.spec."+field+".revisionName"))
		name := strings.Replace(from.Name, m.snapshot, m.name, 1)
		existing := w.revision(name)
		if existing != nil && !same(w.WithT, existing, from) {
			w.Expect(w.core.AppsV1().ControllerRevisions(w.namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
			existing = nil
		}
		if existing == nil {
			w.stash(name, from.Data.Raw, object, from.Labels)
		}
		spec[field] = map[string]any{"name": "small", "revisionName": name}
	}
	object.Object["spec"] = spec
	_, err := w.dynamic.Resource(vms).Namespace(w.namespace).Update(w.t.Context(), object, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}
