package migration_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

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
			g := NewWithT(t)
			crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
			w := running.InstallFlipped(t, cp, crd, 20)
			c.label(hands{t, w})
			running.Migration(t, cp.Config, running.Quick(w.GR.Group))
			g.Eventually(w.Reason, soon, "50ms").Should(Equal(v1alpha1.ReasonMigrated), "after several looks at the CRD")
			g.Eventually(notes(t, w), soon, "50ms").Should(ConsistOf(parts(c.want)...))
			g.Consistently(notes(t, w), "1s", "100ms").Should(ConsistOf(parts(c.want)...), "once is enough")
		})
	}
}

func TestAnotherOwnerOfTheLabelIsAnotherWarning(t *testing.T) {
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	w := running.InstallFlipped(t, cp, crd, 1)
	h := hands{t, w}
	h.label("kubectl-label")
	running.Migration(t, cp.Config, running.Quick(w.GR.Group))
	g.Eventually(notes(t, w), soon, "50ms").Should(ConsistOf(ContainSubstring("no tool has left a trace")))
	h.apply("kustomize-controller", `"kustomize.toolkit.fluxcd.io/name": "crds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"`)
	g.Eventually(notes(t, w), soon, "50ms").Should(ConsistOf(ContainSubstring("no tool has left a trace"), ContainSubstring("takes it off")))
	h.apply("kustomize-controller", fmt.Sprintf("%q: %q", v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue))
	g.Consistently(notes(t, w), "1s", "100ms").Should(HaveLen(2), "in Git now")
}

// notes are those of the warnings about the label, one for each time it was said.
func notes(t *testing.T, w *running.Witness) func() ([]string, error) {
	t.Helper()
	return warnings(t, w, v1alpha1.EventOptInNotInGit)
}

// warnings are those about the CRD for a reason, one for each time it was said.
func warnings(t *testing.T, w *running.Witness, reason string) func() ([]string, error) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(cp.Config).EventsV1().Events("default")
	return func() ([]string, error) {
		list, err := client.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		said := []string{}
		for _, e := range list.Items {
			if e.Regarding.Name == w.GR.String() && e.Reason == reason && e.Type == "Warning" {
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
