package repair_test

import (
	"encoding/base64"
	"fmt"
	"math/rand"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestTheGateIsHeldUntilTheCopiesAreMoved(t *testing.T) {
	w := newStashWorld(t)
	w.vm("rose")
	control := w.control()
	w.runs(cp.Config, 0)
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	control.moves()
	w.Expect(w.revisions()).To(ConsistOf("rose-old", successorOf("tulip")), "v1alpha2 may stay for ever")
	control.goes()

	shot := w.creates(snapshots, `{apiVersion: snapshot.kubevirt.io/v1, kind: VirtualMachineSnapshot, metadata: {name: shot}}`)
	w.asks(v1alpha1.NoStashes)
	w.Eventually(w.Verdict, soon).Should(Equal("False StillStashed Reconciling"))
	w.Expect(w.Removal().Status.Blockers).To(ConsistOf(HaveField("Action", HavePrefix("the project's controller moves them, or Moult does"))))
	w.Eventually(w.told, soon).Should(ContainElement(And(
		HavePrefix("Normal StashesLeft: 1 stashed copy is left, and tried again: 1 lie in a namespace where the project takes or restores copies"), ContainSubstring(w.namespace+"/shot is not done"))))
	w.Expect(w.revisions()).To(ConsistOf("rose-old"))

	shot.Object["status"] = map[string]any{"phase": "Succeeded"}
	_, err := w.client.Resource(snapshots).Namespace(w.namespace).Update(t.Context(), shot, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(w.revisions()).To(ConsistOf(successorOf("rose")))
	w.Expect(w.names("rose")()).To(Equal(successorOf("rose")))
	w.Eventually(w.told, soon).Should(ContainElement(
		HavePrefix("Normal StashesMoved: 1 stashed copy was moved; that of controllerrevisions.apps " + w.namespace + "/rose-old from v1alpha2 to v1beta1 in " + successorOf("rose"))))
	w.Eventually(w.events(w.namespace, successorOf("rose")), soon).Should(ContainElement(And(
		HavePrefix("Normal StashReplaced: it has taken the place of controllerrevisions.apps "+w.namespace+"/rose-old, which was deleted: VirtualMachineInstancetype small at v1alpha2, now at v1beta1"),
		ContainSubstring(v1alpha1.ReplacedAnnotationPrefix))))
	made, err := w.client.Resource(revisions).Namespace(w.namespace).Get(t.Context(), successorOf("rose"), metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	var kept []*unstructured.Unstructured
	for u := range embeddedcopies.Replaced(made, unpacking.One()) {
		kept = append(kept, u)
	}
	w.Expect(kept).To(HaveLen(1))
	w.Expect(kept[0].GetName()).To(Equal("rose-old"))
	w.Expect(kept[0].Object["data"]).To(HaveKeyWithValue("apiVersion", stashGroup+"/v1alpha2"))
	_, err = w.client.Resource(revisions).Namespace(w.namespace).Create(t.Context(), kept[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	w.Expect(err).NotTo(HaveOccurred(), "it can be made again as it is")

	w.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1alpha2")).To(Succeed())
	w.vm("late") // restored from a backup
	w.Eventually(w.names("late"), soon).Should(Equal(successorOf("late")))
	w.Eventually(w.revisions, soon).Should(ConsistOf(successorOf("rose"), successorOf("late")))
}

func TestCopiesAreTouchedOnlyWithTheAnnotationTheLabelAndTheProof(t *testing.T) {
	for name, change := range map[string]func(*builders.CRDBuilder){
		"no annotation": func(b *builders.CRDBuilder) { b.Annotation(v1alpha1.MigrateStashesAnnotation, "false") },
		"another's": func(b *builders.CRDBuilder) {
			b.Annotation(v1alpha1.MigrateStashesAnnotation, "no").Annotation(v1alpha1.RepairOwnersAnnotation, "true")
		},
		"no label":         func(b *builders.CRDBuilder) { b.Label(v1alpha1.MigrateLabel, "no") },
		"paused":           func(b *builders.CRDBuilder) { b.Annotation(v1alpha1.PausedAnnotation, "true") },
		"not migrated yet": func(b *builders.CRDBuilder) { b.Unserved("v1beta1") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newStashWorld(t, change)
			control := w.control()
			w.vm("rose")
			w.asks()
			w.runs(cp.Config, 0)
			control.moves()
			w.Expect(w.revisions()).To(ContainElement("rose-old"))
			w.Expect(w.names("rose")()).To(Equal("rose-old"))
			w.Expect(w.revisions()).NotTo(ContainElement(successorOf("rose")))
			w.Expect(w.told()).To(BeEmpty())
		})
	}
}

func TestARightThatIsMissingIsReportedAndAllElseGoesOn(t *testing.T) {
	w := newStashWorld(t)
	w.vm("rose")
	user := "stashes-" + w.namespace
	objects := running.Rule(stashGroup, "*", "get", "list", "patch")
	config := running.User(t, cp.Config, user, running.MoultRules(objects)...)
	w.runs(config, 0)
	w.asks()
	w.Eventually(w.told, soon).Should(ContainElement(And(
		HavePrefix("Warning StashesUnknown: not known whether stashed copies are left: "), ContainSubstring("it needs list on controllerrevisions"))))
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))

	lists := []rbacv1.PolicyRule{objects,
		running.Rule("kubevirt.io", "virtualmachines", "list", "get", "patch"), running.Rule("kubevirt.io", "kubevirts", "list"),
		running.Rule("snapshot.kubevirt.io", "virtualmachinesnapshots", "list"),
	}
	allow := func(verbs ...string) {
		running.Allow(t, cp.Config, user, running.MoultRules(append(lists, running.Rule("apps", "controllerrevisions", append(verbs, "list", "get")...))...)...)
	}
	allow("create", "delete")
	w.Eventually(w.told, soon).Should(ContainElement(
		HavePrefix("Warning StashesLeft: 1 stashed copy is left, and tried again: 1 may not be moved (grant patch on controllerrevisions in apps): controllerrevisions.apps " + w.namespace + "/rose-old")))
	w.Expect(w.revisions()).To(ConsistOf("rose-old", successorOf("rose")), "what cannot be kept is not deleted")
	w.Expect(w.names("rose")()).To(Equal(successorOf("rose")))
	allow("create", "patch", "delete")
	w.Eventually(w.revisions, soon).Should(ConsistOf(successorOf("rose")))
}

func TestWhatVirtControllerMovesIsWaitedForAndReported(t *testing.T) {
	w := newStashWorld(t)
	w.vm("rose")
	running := w.creates(kubevirts, `{apiVersion: kubevirt.io/v1, kind: KubeVirt, metadata: {name: kubevirt}, status: {observedKubeVirtVersion: v1.5.2}}`)
	w.asks(v1alpha1.NoStashes)
	config, looks := w.counting()
	w.runs(config, 0)
	w.Eventually(w.told, soon).Should(ContainElement(And(
		HavePrefix("Normal StashesLeft: 1 stashed copy is left, and tried again: 1 are moved by the project's own controller (Moult waits for it"),
		ContainSubstring("virt-controller of KubeVirt v1.5.2 moves it by itself"))))
	w.eventuallyLooked(looks)
	w.Expect(w.revisions()).To(ConsistOf("rose-old"))
	w.Eventually(w.Verdict, soon).Should(Equal("False StillStashed Reconciling"))

	w.Expect(w.client.Resource(kubevirts).Namespace(w.namespace).Delete(t.Context(), running.GetName(), metav1.DeleteOptions{})).To(Succeed())
	w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
	w.Expect(w.revisions()).To(ConsistOf(successorOf("rose")))
}

func TestWhatIsNamedWhileItIsDeletedIsMadeAgainAndMovedAgain(t *testing.T) {
	w := newStashWorld(t)
	w.vm("rose")
	var once sync.Once
	w.runs(through(func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if req.Method == http.MethodDelete {
			once.Do(func() { w.namesOld("rose") })
		}
		return send()
	}), 0)
	w.asks()
	w.Eventually(w.events(w.namespace, "rose-old"), soon).Should(ContainElement(
		And(HavePrefix("Warning StashRestored: it had been deleted"), ContainSubstring("virtualmachines.kubevirt.io "+w.namespace+"/rose names it"))))
	w.Eventually(w.names("rose"), soon).Should(Equal(successorOf("rose")))
	w.Eventually(w.revisions, soon).Should(ConsistOf(successorOf("rose")))
	w.Eventually(w.told, soon).Should(ContainElement(HavePrefix("Warning StashesReturned: 1 stashed copy was named again")))
}

// The writes for one copy are: create the successor, repoint when the CRD of what names it has settled. In a later look they are: create
// the successor, which is there, keep the old one in it, delete.
func TestAKillAnywhereLosesNothing(t *testing.T) {
	w := newStashWorld(t)
	w.asks()
	var names []string
	for i, at := range []sort{
		{http.MethodPost, revisions, 1},
		{http.MethodPatch, vms, 1},
		{http.MethodPost, revisions, 2},
		{http.MethodPatch, revisions, 1},
		{http.MethodDelete, revisions, 1},
	} {
		for _, sent := range []bool{false, true} {
			name := fmt.Sprintf("rose-%d-%t", i, sent)
			names = append(names, name)
			w.vm(name)
			process := &mortal{vm: name, at: at, sent: sent, dead: make(chan struct{})}
			stop := w.runs(through(process.write), 0)
			w.Eventually(process.dead, soon).Should(BeClosed(), "%s %s", at.method, at.object.Resource)
			stop()
			named, err := w.names(name)()
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.revisions()).To(ContainElement(named), "killed at %v, sent %t: what is named is there", at, sent)
		}
	}
	last := names[len(names)-1]
	w.Expect(w.revisions()).NotTo(ContainElement(last + "-old"))
	w.namesOld(last) // no process has seen this
	w.runs(cp.Config, 0)
	w.Eventually(w.events(w.namespace, last+"-old"), soon).Should(ContainElement(HavePrefix("Warning StashRestored")), "by what its successor keeps")
	w.Eventually(w.revisions, soon).Should(And(HaveLen(len(names)), HaveEach(HaveSuffix("-small-v1beta1-u1-1"))))
	for _, name := range names {
		w.Expect(w.names(name)()).To(Equal(successorOf(name)))
	}
}

// An object that does not fit into the annotations of its successor cannot be had again, so it stays.
func TestWhatIsTooLargeToBeKeptIsNotDeleted(t *testing.T) {
	w := newStashWorld(t)
	noise := make([]byte, 200<<10)
	_, _ = rand.New(rand.NewSource(1)).Read(noise) //nolint:gosec // it has to be hard to pack, not to guess
	w.stashes("rose", "instancetype", "VirtualMachineInstancetype", base64.StdEncoding.EncodeToString(noise))
	w.vm("tulip")
	w.asks(v1alpha1.NoStashes)
	config, looks := w.counting()
	w.runs(config, 0)
	w.Eventually(w.told, soon).Should(ContainElement(And(
		HavePrefix("Warning StashesLeft: 1 stashed copy is left, and tried again: 1 were refused (fix the object, or what refuses it): controllerrevisions.apps "+w.namespace+"/rose-old"),
		ContainSubstring("it cannot be kept in "+successorOf("rose")+": annotations size"), ContainSubstring("`moult survivors migrate` keeps it in a file"))))
	w.Eventually(w.revisions, soon).Should(ConsistOf("rose-old", successorOf("rose"), successorOf("tulip")))
	w.eventuallyLooked(looks)
	w.Expect(w.revisions()).To(ConsistOf("rose-old", successorOf("rose"), successorOf("tulip")))
	w.Expect(w.names("rose")()).To(Equal(successorOf("rose")))
	w.Expect(w.Verdict()).To(Equal("False StillStashed Reconciling"))
}

func TestTheMoveStopsWhenItIsNotWantedAnyMore(t *testing.T) {
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"no annotation": func(crd *apiextensionsv1.CustomResourceDefinition) {
			delete(crd.Annotations, v1alpha1.MigrateStashesAnnotation)
		},
		"no label": func(crd *apiextensionsv1.CustomResourceDefinition) { delete(crd.Labels, v1alpha1.MigrateLabel) },
		"paused": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Annotations[v1alpha1.PausedAnnotation] = "true"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStashWorld(t)
			const n = 20
			for i := range n {
				w.vm(fmt.Sprint("rose-", i))
			}
			control := w.control()
			w.asks()
			w.runs(cp.Config, 5)
			moved := func() (n int, err error) {
				list, err := w.client.Resource(vms).Namespace(w.namespace).List(t.Context(), metav1.ListOptions{})
				if err != nil {
					return 0, err
				}
				for i := range list.Items {
					if name, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "instancetype", "revisionName"); !strings.HasSuffix(name, "-old") {
						n++
					}
				}
				return n, nil
			}
			w.Eventually(moved, soon).Should(BeNumerically(">", 0))
			w.Update(change)
			control.moves() // after all that was under way
			w.Expect(moved()).To(BeNumerically("<", n))
			for i := range n {
				w.Expect(w.revisions()).To(ContainElement(fmt.Sprintf("rose-%d-old", i)), "it was stopped before the look that deletes")
			}
		})
	}
}
