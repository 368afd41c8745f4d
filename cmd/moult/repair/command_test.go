package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// owned is who owns what, without times.
func owned(c *corev1.ConfigMap) (entries []string) {
	for _, e := range c.ManagedFields {
		entries = append(entries, fmt.Sprintln(e.Manager, e.Operation, e.APIVersion, e.Subresource, e.FieldsV1.GetRawString()))
	}
	return entries
}

func TestReferencesAreMovedBeforeTheRemovalAndAfterIt(t *testing.T) {
	for name, removed := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var all []*corev1.ConfigMap
			other := metav1.OwnerReference{APIVersion: "example.org/v1alpha1", Kind: "Widget", Name: "rose", UID: "other", BlockOwnerDeletion: new(false)}
			for range 4 {
				namespace := w.Namespace()
				owner := w.creates(namespace, "tulip")
				for i := range 3 {
					all = append(all, w.owns(namespace, fmt.Sprintf("soil-%d", i), other, w.refers(owner)))
				}
			}
			good := w.owns(w.namespace, "good", w.moved(w.refers(w.owner)))
			if removed {
				w.removes()
			}
			d, code := w.repairs()
			w.Expect(code).To(Equal(cli.ExitDone), "%+v", d)
			w.Expect(d.Verdict).To(Equal(repairs.Done))
			w.Expect(d.Moved).To(BeEquivalentTo(12))
			w.Expect(d.Writers).To(Equal([]repairs.Writer{{Manager: operator, References: 12}}))
			for _, c := range all {
				now := w.now(c)
				w.Expect(now.OwnerReferences).To(Equal([]metav1.OwnerReference{other, w.moved(c.OwnerReferences[1])}))
				w.Expect(owned(now)).To(Equal(owned(c)), "who wrote the reference owns it still")
				w.Expect(now.Data).To(Equal(c.Data))
			}
			w.Expect(w.now(good)).To(Equal(good), "what needs no repair is not written")

			d, code = w.repairs()
			w.Expect(code).To(Equal(cli.ExitDone))
			w.Expect(d.Moved).To(BeZero())
			w.Expect(d.Looks).To(Equal(1))
		})
	}
}

func TestOwnershipByServerSideApplyIsKept(t *testing.T) {
	w := newWorld(t)
	ref := w.refers(w.owner)
	applies := func(refs ...metav1.OwnerReference) (*corev1.ConfigMap, error) {
		body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "soil", "ownerReferences": refs}})
		w.Expect(err).NotTo(HaveOccurred())
		return client().CoreV1().ConfigMaps(w.namespace).Patch(w.T.Context(), "soil", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: operator})
	}
	before, err := applies(ref)
	w.Expect(err).NotTo(HaveOccurred())
	_, code := w.repairs()
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(owned(w.now(before))).To(Equal(owned(before)))
	_, err = applies(w.moved(ref))
	w.Expect(err).NotTo(HaveOccurred(), "no conflict with moult")
	c, err := applies()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(c.OwnerReferences).To(BeEmpty(), "and it can take the reference away")
}

func TestWhichVersionsAreMoved(t *testing.T) {
	w := newWorld(t)
	v0 := w.refers(w.owner)
	v0.APIVersion = w.GR.Group + "/v0"
	alpha, zero := w.owns(w.namespace, "alpha", w.refers(w.owner)), w.owns(w.namespace, "zero", v0)
	running.InstallGate(w.T, cp.Config)
	at := func(c *corev1.ConfigMap) string {
		return strings.TrimPrefix(w.now(c).OwnerReferences[0].APIVersion, w.GR.Group+"/")
	}

	d, code := w.repairs("--version", "v0")
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(d.Targets).To(ConsistOf(And(HaveKeyWithValue("leaving", []any{"v0"}), HaveKeyWithValue("unserved", false))))
	w.Expect([]string{at(alpha), at(zero)}).To(Equal([]string{"v1alpha1", "v1"}))

	w.patches(zero, operator, `{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"Widget","name":"rose","uid":%q}]}}`, v0.APIVersion, v0.UID)
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "no-v1alpha1"}, Spec: v1alpha1.VersionRemovalSpec{CRDName: w.CRD.Name, Versions: []string{"v1alpha1"}}}
	w.Expect(running.Client(w.T, cp.Config).Create(w.T.Context(), removal)).To(Succeed())
	got := w.Run("repair", "owners", w.CRD.Name)
	w.Expect(got.Out).To(HavePrefix(w.CRD.Name + ": from v1alpha1 (VersionRemovals name them) and versions that it does not serve to v1\n"))
	w.Expect(got.Out).To(HaveSuffix("\ndone: 2 owner references moved; a list of everything has none left\n"))
	w.Expect([]string{at(alpha), at(zero)}).To(Equal([]string{"v1", "v1"}))
}

func TestADryRunWritesNothing(t *testing.T) {
	w := newWorld(t)
	c := w.owns(w.namespace, "soil", w.refers(w.owner))
	got := w.Run("repair", "owners", w.CRD.Name, "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.Out+got.ErrOut)
	w.Expect(got.ErrOut).To(BeEmpty())
	w.Expect(got.Out).To(ContainSubstring("\nwould be moved  1 owner reference\n         configmaps " + w.namespace + "/soil  metadata.ownerReferences[0]  Widget rose  v1alpha1 -> v1\n         written by: widget-operator (1)."))
	w.Expect(got.Out).To(HaveSuffix("\ndone: 1 owner reference would be moved, and nothing was written\n"))
	w.Expect(w.now(c)).To(Equal(c))
}

func TestAnOwnerThatIsBeingDeletedIsReported(t *testing.T) {
	w := newWorld(t)
	w.owns(w.namespace, "soil", w.refers(w.owner))
	widgets := dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace(w.namespace)
	w.Expect(widgets.Delete(w.T.Context(), "rose", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})).To(Succeed())
	w.T.Cleanup(func() {
		_, _ = widgets.Patch(context.Background(), "rose", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	d, code := w.repairs()
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(d.Items).To(ConsistOf(HaveField("OwnerTerminating", true)))
}

func TestAnObjectThatChangesMeanwhileIsReadAgain(t *testing.T) {
	w := newWorld(t)
	busy := w.owns(w.namespace, "busy", w.refers(w.owner))
	moves := w.owns(w.namespace, "moves", w.refers(w.owner))
	goes := w.owns(w.namespace, "goes", w.refers(w.owner))
	again := w.owns(w.namespace, "again", w.refers(w.owner))
	var once [4]sync.Once
	writes := 0
	report, err := w.through(w.T.Context(), func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		maps := client().CoreV1().ConfigMaps(w.namespace)
		switch {
		case strings.HasSuffix(req.URL.Path, w.namespace+"/configmaps/busy") && writes < 5: // of both writes
			writes++
			w.patches(busy, "somebody", `{"data":{"n":"%d"}}`, writes)
		case strings.HasSuffix(req.URL.Path, w.namespace+"/configmaps/moves"):
			once[1].Do(func() { // another reference is before it now
				w.patches(moves, "somebody", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"n"},{"apiVersion":%q,"kind":"Widget","name":"rose","uid":%q}]}}`, w.refers(w.owner).APIVersion, w.owner.GetUID())
			})
		case strings.HasSuffix(req.URL.Path, w.namespace+"/configmaps/goes"):
			once[2].Do(func() { w.Expect(maps.Delete(context.Background(), "goes", metav1.DeleteOptions{})).To(Succeed()) })
		case strings.HasSuffix(req.URL.Path, w.namespace+"/configmaps/again"):
			once[3].Do(func() {
				w.Expect(maps.Delete(context.Background(), "again", metav1.DeleteOptions{})).To(Succeed())
				again = w.owns(w.namespace, "again", w.refers(w.owner))
			})
		}
		return send()
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report.Left).To(BeEmpty())
	w.Expect(report.Moved).To(BeEquivalentTo(3))
	w.Expect(report.Taken).To(BeZero())
	w.Expect(w.now(busy).OwnerReferences).To(Equal([]metav1.OwnerReference{w.moved(w.refers(w.owner))}))
	w.Expect(w.now(busy).Data).To(HaveKeyWithValue("n", "5"), "what the other has written stays")
	w.Expect(w.now(again).OwnerReferences).To(Equal([]metav1.OwnerReference{w.moved(w.refers(w.owner))}))
	w.Expect(w.now(moves).OwnerReferences).To(ConsistOf(metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"},
		And(HaveField("Name", "rose"), HaveField("APIVersion", w.GR.Group+"/v1"))), "the one that is at its place now is not touched")
	w.Expect(owned(w.now(busy))).NotTo(ContainElement(ContainSubstring("moult")))
	w.Expect(goes.UID).NotTo(BeEmpty())
}

func TestAThousandAreMovedAndARepairThatStopsGoesOn(t *testing.T) {
	w := newWorld(t)
	const n = 1000
	owner := w.refers(w.owner)
	w.Expect(builders.CreateObjects(w.T.Context(), cp.Config, w.GR.WithVersion("v1"), w.namespace, n, builders.Each(func(o *unstructured.Unstructured) { o.SetOwnerReferences([]metav1.OwnerReference{owner}) }))).To(Succeed())
	ctx, cancel := context.WithCancel(w.T.Context())
	defer cancel()
	var writes atomic.Int64
	report, err := w.through(ctx, func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		if writes.Add(1) == n/2 {
			cancel()
		}
		return answer, err
	})
	w.Expect(err).To(MatchError(context.Canceled))
	w.Expect(report.Moved).To(And(BeNumerically(">", 0), BeNumerically("<", n)))

	d, code := w.repairs()
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(d.Moved).To(And(BeNumerically(">", 0), BeNumerically("<", n)))
	w.Expect(d.Items).To(HaveLen(100), "as --limit says")
	list, err := dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace(w.namespace).List(w.T.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	moved := 0
	for i := range list.Items {
		o := &list.Items[i]
		if refs := o.GetOwnerReferences(); len(refs) > 0 {
			w.Expect(refs).To(Equal([]metav1.OwnerReference{w.moved(owner)}))
			w.Expect(o.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", "moult")))
			moved++
		}
	}
	w.Expect(moved).To(Equal(n))
}

func TestWhatIsNoRepairHasNoAnswer(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no such CRD":              {[]string{"nothing.example.com"}, "no such CRD: nothing.example.com"},
		"a version of what":        {[]string{"--version", "v1"}, "--version is about CRDs that are named"},
		"the storage version":      {[]string{w.CRD.Name, "--version", "v1"}, "v1 is the storage version, which references are moved to"},
		"a limit below 0":          {[]string{"--limit", "-1"}, "--limit -1 is below 0"},
		"no writes at all":         {[]string{"--max-in-flight", "0"}, "max-in-flight"},
		"a format that there not":  {[]string{"-o", "xml"}, "-o xml is none of json, yaml"},
		"a flag that there is not": {[]string{"--orphan"}, "unknown flag: --orphan; see moult repair owners --help"},
		"no CRD is opted in":       {[]string{"--label-key", "example.com/nobody"}, "no CRD carries the label example.com/nobody=true; name the CRDs whose owner references are to be moved"},
	} {
		t.Run(name, func(*testing.T) {
			got := w.Run(append([]string{"repair", "owners"}, c.args...)...)
			w.Expect(got.Code).To(Equal(cli.ExitError), got.Out+got.ErrOut)
			w.Expect(got.ErrOut).To(ContainSubstring(c.says))
			w.Expect(got.Out).To(BeEmpty())
		})
	}
}
