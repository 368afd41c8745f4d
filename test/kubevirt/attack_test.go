package kubevirt

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/test/running"
)

// small is an instance type at a version; the argument tells one from another.
func small(version string, cpus int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"instancetype.kubevirt.io/%s","kind":"VirtualMachineInstancetype","metadata":{"name":"small","uid":"u1","generation":1},"spec":{"cpu":{"guest":%d},"memory":{"guest":"1Gi"}}}`, version, cpus)
}

const successor = "-small-v1beta1-u1-1"

// named makes a VirtualMachine that names a revision.
func (w *world) named(name, revision string) *unstructured.Unstructured {
	return w.makes(vms, name, map[string]any{"spec": map[string]any{"instancetype": map[string]any{"name": "small", "revisionName": revision}}})
}

// one is a VirtualMachine whose revision it owns.
func (w *world) one(name string) *unstructured.Unstructured {
	u := w.named(name, name+"-old")
	w.stash(name+"-old", small("v1alpha2", 2), u, labelsOf(small("v1alpha2", 2)))
	return u
}

func (w *world) names(name string) string {
	return text(w.now(vms, name), "spec.instancetype.revisionName")
}

func (w *world) patches(gvr schema.GroupVersionResource, name, format string, args ...any) {
	_, err := w.dynamic.Resource(gvr).Namespace(w.namespace).Patch(context.WithoutCancel(w.t.Context()), name, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{FieldManager: "somebody"})
	w.Expect(err).NotTo(HaveOccurred())
}

func (w *world) runs(m *embeddedcopies.Migration) repairs.Report {
	w.t.Helper()
	report, err := m.Run(w.t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	return report
}

// leaves expects that copies were left for one reason.
func leaves(reason repairs.Reason, why string) OmegaMatcher {
	return ConsistOf(And(HaveField("Reason", reason), HaveField("Items", ConsistOf(HaveField("Why", ContainSubstring(why))))))
}

func isWrite(req *http.Request, method, resource string) bool {
	return req.Method == method && strings.Contains(req.URL.Path, "/"+resource+"/")
}

func TestWhereTheNameOfTheSuccessorIsTaken(t *testing.T) {
	w := newWorld(t)
	u := w.one("vm")
	taken := w.stash("vm"+successor, small("v1beta1", 64), u, labelsOf(small("v1beta1", 64)))
	report := w.migrates()
	w.Expect(report.Left).To(BeEmpty())
	w.Expect(w.names("vm")).To(MatchRegexp("^vm" + successor + "-[0-9a-f]{8}$"))
	got, err := resolved(w.revision(w.names("vm")).Data.Raw)
	w.Expect(err).NotTo(HaveOccurred())
	want, err := resolved(small("v1alpha2", 2))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(got).To(Equal(want))
	w.Expect(w.revision(taken.Name).Data).To(Equal(taken.Data))

	second := w.named("second", "second-old")
	old := w.stash("second-old", small("v1alpha2", 2), second, labelsOf(small("v1alpha2", 2)))
	equal := ours(w.WithT, small("v1alpha2", 2))
	w.stash("second"+successor, equal, u, labelsOf(equal))
	report = w.migrates()
	w.Expect(report.Left).To(BeEmpty())
	w.Expect(w.names("second")).NotTo(Equal("second"+successor), "that one goes when another VirtualMachine does")
	w.Expect(w.revision(old.Name)).To(BeNil())
}

func TestWhatCannotBeDecodedIsLeft(t *testing.T) {
	w := newWorld(t)
	u := w.named("vm", "vm-old")
	old := w.stash("vm-old", []byte(`{"apiVersion":"","spec":"?"}`), u, nil)
	report := w.migrates()
	w.Expect(report.Moved).To(BeZero())
	w.Expect(report.Left).To(leaves(embeddedcopies.Undecodable, "no JSON in base64"))
	w.Expect(w.revision("vm-old")).To(Equal(old))
	w.Expect(w.now(vms, "vm")).To(Equal(u))
}

func TestAFieldOfAnotherTypeCannotBeDecoded(t *testing.T) {
	w := newWorld(t)
	u := w.named("vm", "vm-old")
	raw := []byte(strings.Replace(string(small("v1alpha2", 2)), `"guest":2`, `"guest":"two"`, 1))
	_, err := resolved(raw)
	w.Expect(err).To(HaveOccurred(), "KubeVirt reads it")
	old := w.stash("vm-old", raw, u, labelsOf(raw))
	w.Expect(w.migrates().Left).To(leaves(embeddedcopies.Undecodable, "spec.cpu.guest"))
	w.Expect(w.revision("vm-old")).To(Equal(old))
	w.Expect(w.now(vms, "vm")).To(Equal(u))
}

func TestWhoMayNotDeleteLeavesTheOldOne(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	report := w.runs(w.as(w.user(
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"create", "patch"}},
	)))
	w.Expect(report.Left).To(ConsistOf(And(HaveField("Reason", repairs.Forbidden), HaveField("Needs", ConsistOf("delete on controllerrevisions in apps")))))
	w.Expect(w.names("vm")).To(Equal("vm" + successor))
	w.Expect(w.revision("vm-old")).NotTo(BeNil())
	w.Expect(w.migrates()).To(And(HaveField("Moved", BeEquivalentTo(1)), HaveField("Left", BeEmpty())), "somebody who may goes on")
}

func TestNothingIsDeletedWhereNotAllReferrersCanBeRead(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	everything := rbacv1.PolicyRule{APIGroups: []string{"kubevirt.io", "apps", group}, Resources: []string{"*"}, Verbs: []string{"*"}}
	restOf := rbacv1.PolicyRule{APIGroups: []string{"snapshot.kubevirt.io"}, Resources: []string{snapshots.Resource, restores.Resource}, Verbs: []string{"list"}}
	report := w.runs(w.as(w.user(everything, restOf)))
	w.Expect(report.NotLooked).To(ConsistOf(And(HaveField("Resource", "virtualmachinesnapshotcontents.snapshot.kubevirt.io"), HaveField("Why", ContainSubstring("list on virtualmachinesnapshotcontents")))))
	w.Expect(report.Left).To(leaves(embeddedcopies.NotKnown, "not everything"))
	w.Expect(w.revision("vm-old")).NotTo(BeNil())
}

// user has some rights.
func (w *world) user(rules ...rbacv1.PolicyRule) *rest.Config {
	cfg := running.User(w.t, cp.Config, w.namespace, rules...)
	cfg.QPS = -1
	return cfg
}

func TestAVirtualMachineThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	w.patches(vms, "vm", `{"metadata":{"finalizers":["example.com/wait"]}}`)
	w.Expect(w.dynamic.Resource(vms).Namespace(w.namespace).Delete(t.Context(), "vm", metav1.DeleteOptions{})).To(Succeed())
	t.Cleanup(func() { w.patches(vms, "vm", `{"metadata":{"finalizers":null}}`) })
	w.Expect(w.migrates().Left).To(leaves(embeddedcopies.Terminating, "its owner is being deleted"))
	w.Expect(w.revisions()).To(Equal(map[string]string{"vm-old": "v1alpha2"}))
	w.Expect(w.names("vm")).To(Equal("vm-old"))
}

func TestWhileASnapshotOrARestoreIsUnderWayNothingIsTouched(t *testing.T) {
	for name, c := range map[string]struct {
		at           schema.GroupVersionResource
		under, ended map[string]any
	}{
		"a snapshot":             {snapshots, map[string]any{"phase": "InProgress", "readyToUse": false}, map[string]any{"phase": "Succeeded", "readyToUse": true}},
		"a snapshot that begins": {snapshots, nil, map[string]any{"phase": "Failed"}},
		"a restore":              {restores, map[string]any{"complete": false}, map[string]any{"complete": true}},
		"a restore that begins":  {restores, nil, map[string]any{"complete": false, "conditions": []any{map[string]any{"type": "Failure", "status": "True"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.one("vm")
			fields := map[string]any{}
			if c.under != nil {
				fields["status"] = c.under
			}
			work := w.makes(c.at, "work", fields)
			w.Expect(w.migrates().Left).To(leaves(embeddedcopies.Busy, "work is not done"))
			w.Expect(w.revisions()).To(Equal(map[string]string{"vm-old": "v1alpha2"}))
			work.Object["status"] = c.ended
			_, err := w.dynamic.Resource(c.at).Namespace(w.namespace).UpdateStatus(t.Context(), work, metav1.UpdateOptions{})
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.migrates()).To(And(HaveField("Moved", BeEquivalentTo(1)), HaveField("Left", BeEmpty())))
		})
	}
}

func TestWhatVirtControllerMovesIsLeftToIt(t *testing.T) {
	for version, byItself := range map[string]bool{"v1.2.9": false, "v1.3.0-rc.1": true, "v1.6.3": true, "v1.7.0": false, "devel": true} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t)
			w.one("vm")
			w.makes(kubevirts, "kubevirt", map[string]any{"status": map[string]any{"observedKubeVirtVersion": version}})
			snapshot := w.makes(snapshots, "snap", map[string]any{"status": map[string]any{"phase": "Succeeded"}})
			w.stash("snap-old", small("v1alpha2", 2), snapshot, labelsOf(small("v1alpha2", 2)))
			report := w.migrates()
			w.Expect(w.revisions()).To(HaveKey("snap" + successor))
			w.Expect(w.revisions()).NotTo(HaveKey("snap-old"))
			if !byItself {
				w.Expect(report.Left).To(BeEmpty())
				return
			}
			w.Expect(report.Left).To(leaves(embeddedcopies.ByController, "virt-controller of KubeVirt "+version+" moves it by itself"))
			w.Expect(w.names("vm")).To(Equal("vm-old"))
			take := w.migration(nil)
			take.TakeOver = true
			w.Expect(w.runs(take).Left).To(BeEmpty())
			w.Expect(w.names("vm")).To(Equal("vm" + successor))
		})
	}
}

func TestWhatAVirtualMachineWasStartedFromKeepsIt(t *testing.T) {
	w := newWorld(t)
	u := w.one("vm")
	w.stash("revision-start-vm-1", []byte(`{"spec":{"instancetype":{"name":"small","revisionName":"vm-old"}}}`), u, nil)
	w.Expect(w.migrates().Left).To(leaves(embeddedcopies.StillNamed, "revision-start-vm-1 names it: it is what the VirtualMachine was started from"))
	w.Expect(w.names("vm")).To(Equal("vm" + successor))
	w.Expect(w.revision("vm-old")).NotTo(BeNil())
	w.Expect(w.core.AppsV1().ControllerRevisions(w.namespace).Delete(t.Context(), "revision-start-vm-1", metav1.DeleteOptions{})).To(Succeed())
	w.Expect(w.migrates().Left).To(BeEmpty())
	w.Expect(w.revision("vm-old")).To(BeNil())
}

func TestANameThatSomebodyAppliesIsLeft(t *testing.T) {
	for name, apply := range map[string]func(*world){
		"kubectl": func(w *world) {
			w.patches(vms, "vm", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}}}`, `{"spec":{"instancetype":{"revisionName":"vm-old"}}}`)
		},
		"argocd": func(w *world) {
			body := `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","spec":{"instancetype":{"revisionName":"vm-old"}}}`
			_, err := w.dynamic.Resource(vms).Namespace(w.namespace).Patch(w.t.Context(), "vm", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "argocd"})
			w.Expect(err).NotTo(HaveOccurred())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.one("vm")
			apply(w)
			w.Expect(w.migrates().Left).To(leaves(embeddedcopies.Declared, "which "+name+" applies"))
			w.Expect(w.names("vm")).To(Equal("vm-old"))
			w.Expect(w.revision("vm-old")).NotTo(BeNil())
		})
	}
}
