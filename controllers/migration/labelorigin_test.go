package migration_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A label that a sync takes off ends a migration without a word, so the word comes before.
func TestALabelThatIsNotInGitIsWarnedOfOnce(t *testing.T) {
	for name, c := range map[string]struct {
		label func(hands)
		want  []string // parts of the notes of the warnings
	}{
		"a person has set it, and no tool is in sight": {
			label: func(h hands) { h.label("kubectl-label") },
			want:  []string{"no tool has left a trace"}},
		"a person has set it, and Flux undoes that": {
			label: func(h hands) {
				h.apply("kustomize-controller", `"kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"`)
				h.label("kubectl-label")
			},
			want: []string{"the next reconcile of Kustomization flux-system/crds takes it off"}},
		"Flux has set it": {label: func(h hands) {
			h.apply("kustomize-controller", fmt.Sprintf("%q: %q", v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue))
		}},
		"an operator has set it": {label: func(h hands) { h.label("widget-operator") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := flippedWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1"), 20)
			c.label(hands{t, w.Witness})
			heard := w.warned()
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated), "after several looks at the CRD")
			w.looksAgain()
			w.Expect(heard.notes(v1alpha1.EventOptInNotInGit)).To(ConsistOf(parts(c.want)...), "once is enough")
			w.Eventually(warnings(t, w.Witness, v1alpha1.EventOptInNotInGit), soon).Should(ConsistOf(parts(c.want)...))
		})
	}
}

func TestAnotherOwnerOfTheLabelIsAnotherWarning(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1"), 1)
	h := hands{t, w.Witness}
	h.label("kubectl-label")
	heard := w.warned()
	notes := func() []string { return heard.notes(v1alpha1.EventOptInNotInGit) }
	w.Eventually(notes, soon).Should(ConsistOf(ContainSubstring("no tool has left a trace")))
	h.apply("kustomize-controller", `"kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"`)
	w.Eventually(notes, soon).Should(ConsistOf(ContainSubstring("no tool has left a trace"), ContainSubstring("takes it off")))
	h.apply("kustomize-controller", fmt.Sprintf("%q: %q", v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue))
	w.looksAgain()
	w.Expect(notes()).To(HaveLen(2), "in Git now")
}

// hearing is a recorder that passes Events on and remembers the warnings. An Event takes a while to appear in the cluster.
type hearing struct {
	events.EventRecorder

	mu       sync.Mutex
	warnings map[string][]string // notes by reason
}

func (h *hearing) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	h.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
	if kind == corev1.EventTypeWarning {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.warnings[reason] = append(h.warnings[reason], fmt.Sprintf(note, args...))
	}
}

// notes are those of the warnings for a reason, one for each time it was said.
func (h *hearing) notes(reason string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.warnings[reason])
}

// warned runs a controller whose warnings are heard.
func (w *world) warned() *hearing {
	w.t.Helper()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: kubernetes.NewForConfigOrDie(cp.Config).EventsV1()})
	w.t.Cleanup(broadcaster.Shutdown)
	w.Expect(broadcaster.StartRecordingToSinkWithContext(w.ctx)).To(Succeed())
	h := &hearing{EventRecorder: broadcaster.NewRecorder(scheme.Scheme, "moult"), warnings: map[string][]string{}}
	opts := w.quick()
	opts.Recorder = h
	w.controller(opts)
	return h
}

// warnings are those about the CRD for a reason, one for each time it was said.
func warnings(t *testing.T, w *running.Witness, reason string) func() ([]string, error) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(cp.Config).EventsV1().Events("default")
	return func() ([]string, error) {
		list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=" + w.GR.String()})
		if err != nil {
			return nil, err
		}
		said := []string{}
		for _, e := range list.Items {
			if e.Reason == reason && e.Type == corev1.EventTypeWarning {
				said = append(said, e.Note)
				for range repeats(e) {
					said = append(said, e.Note)
				}
			}
		}
		return said, nil
	}
}

// repeats is how often an Event was recorded again.
func repeats(e eventsv1.Event) int32 {
	if e.Series == nil {
		return 0
	}
	return e.Series.Count - 1
}

func parts(of []string) []any {
	elements := make([]any, len(of))
	for i, part := range of {
		elements[i] = ContainSubstring(part)
	}
	return elements
}

// hands write on a CRD as tools and people do.
type hands struct {
	t *testing.T
	w *running.Witness
}

func (h hands) label(manager string) {
	h.t.Helper()
	body := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue)
	h.patch(types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
}

// apply applies labels server-side.
func (h hands) apply(manager, labels string) {
	h.t.Helper()
	force := true
	body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":%q,"labels":{%s}}}`, h.w.GR, labels)
	h.patch(types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
}

func (h hands) patch(kind types.PatchType, body string, opts metav1.PatchOptions) {
	h.t.Helper()
	_, err := h.w.CRDs().Patch(h.t.Context(), h.w.GR.String(), kind, []byte(body), opts)
	NewWithT(h.t).Expect(err).NotTo(HaveOccurred())
}
