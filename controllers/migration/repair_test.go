package migration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

// managedFields on the real API server: what a walk moves, and that the tools
// that own fields go on owning them when the version has gone.

// gate asks in these tests for v1alpha1 to go.
var gate = types.NamespacedName{Namespace: "default", Name: "widgets-v1alpha1"}

func (w *world) request(store *migration.StateStore) {
	store.Ask(w.crd.Name, gate, plan.Removal{Versions: []string{"v1alpha1"}})
}

// requesting are options with a state store that holds the request already.
func (w *world) requesting() migration.Options {
	opts := w.quick()
	opts.StateStore = migration.NewStateStore()
	w.request(opts.StateStore)
	return opts
}

// spec is what old-tool applies.
type spec = map[string]any

func wholeSpec() spec {
	return spec{"size": int64(1), "color": "green", "parts": []any{"head", "tail"}}
}

// ownedWorld has n objects that each were applied, updated and given a status at
// v1alpha1, by three clients, and v1 as the storage version.
func ownedWorld(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, n int) *world {
	t.Helper()
	w := newWorld(t, crd)
	client := w.Objects("v1alpha1")
	for i := range n {
		name := fmt.Sprintf("owned-%d", i)
		w.Expect(w.applySpec("v1alpha1", "old-tool", name, wholeSpec())).To(Succeed())
		_, err := client.Patch(w.ctx, name, types.MergePatchType, []byte(`{"spec":{"enabled":true}}`), metav1.PatchOptions{FieldManager: "old-updater"})
		w.Expect(err).NotTo(HaveOccurred())
		_, err = client.Patch(w.ctx, name, types.MergePatchType, []byte(`{"status":{"phase":"Ready"}}`), metav1.PatchOptions{FieldManager: "old-controller"}, "status")
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Flip("v1")
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": n}))
	return w
}

// applySpec applies an object server-side, without force. It asks again while the
// API server is still setting up a CRD that has just changed.
func (w *world) applySpec(version, manager, name string, s spec) (err error) {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": s}}
	object.SetAPIVersion(w.GR.Group + "/" + version)
	object.SetKind(w.crd.Spec.Names.Kind)
	object.SetName(name)
	w.Eventually(func() bool {
		_, err = w.Objects(version).Apply(w.ctx, name, object, metav1.ApplyOptions{FieldManager: manager})
		return apierrors.IsTooManyRequests(err) || apierrors.IsNotFound(err)
	}, soon).Should(BeFalse())
	return err
}

// owners are all entries of managedFields, one line each, with the version they
// are at and the fields.
func (w *world) owners() (lines []string) {
	w.t.Helper()
	w.Expect(cp.Etcd().Walk(w.ctx, w.GR, func(s controlplane.Stored) {
		for _, e := range managedFields(s) {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s %s at %s owns %s %s", s.Name, e.Manager, e.Operation, e.APIVersion, e.FieldsV1.GetRawString(), e.Subresource)))
		}
	})).To(Succeed())
	return lines
}

func managedFields(s controlplane.Stored) []metav1.ManagedFieldsEntry {
	object := metav1.PartialObjectMetadata{}
	_ = json.Unmarshal(s.Raw, &object)
	return object.ManagedFields
}

// moved are the same lines at v1.
func (w *world) moved(lines []string) []string {
	after := make([]string, len(lines))
	for i, l := range lines {
		after[i] = strings.Replace(l, w.GR.Group+"/v1alpha1", w.GR.Group+"/v1", 1)
	}
	return after
}

func TestAWalkRepairsOwnershipInTheWriteThatRewrites(t *testing.T) {
	t.Parallel()
	w := ownedWorld(t, widgets(t).WithStatus().Build(), 5)
	before, writes := w.owners(), w.Writes()
	w.Expect(before).To(HaveLen(15))
	w.Expect(before).To(HaveEach(ContainSubstring("/v1alpha1 owns")))

	opts := w.requesting()
	w.controller(opts)
	w.eventuallyMigrated(5)
	w.Expect(w.owners()).To(ConsistOf(w.moved(before)))
	w.Expect(w.Writes()-writes).To(BeEquivalentTo(5), "one write for each object")
	status := plan.MigrationStatus{}
	w.Eventually(func() []string {
		status, _ = opts.StateStore.Status(w.crd.Name)
		return status.Evidence.Survey.Versions
	}, soon).Should(Equal([]string{"v1alpha1"}), "the check has moved them, and a survey has seen that")
	w.Expect(w.Writes()-writes).To(BeEquivalentTo(5), "the survey had nothing to do")
	w.Expect(status.Writers).To(ConsistOf(
		And(HaveField("Manager", "old-tool (Apply)"), HaveField("Objects", int64(5))),
		And(HaveField("Manager", "old-updater (Update)"), HaveField("Objects", int64(5))),
		And(HaveField("Manager", "old-controller (Update of status)"), HaveField("Objects", int64(5)))))
}

// The whole story, and what it is for. Without the repair (Ownership.affects
// answering false) v1alpha1 goes just the same, and then the first apply fails
// with "request to convert CR to an invalid group/version".
func TestAfterTheVersionIsRemovedItsToolsStillOwnWhatTheyOwned(t *testing.T) {
	t.Parallel()
	w := ownedWorld(t, widgets(t).WithStatus().Build(), 3)
	before := w.owners()
	opts := w.quick()
	opts.StateStore = migration.NewStateStore()
	w.controller(opts)
	w.eventuallyMigrated(3)
	w.Expect(w.owners()).To(ConsistOf(before), "nobody has asked for v1alpha1 to go")

	// The request comes when all is done: a survey of its own, of which the CRD sees nothing.
	crd, writes := w.Live(), w.Writes()
	w.request(opts.StateStore)
	w.Eventually(func() []string {
		status, _ := opts.StateStore.Status(w.crd.Name)
		w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated))
		return status.Evidence.Survey.Versions
	}, soon).Should(Equal([]string{"v1alpha1"}))
	w.Expect(w.owners()).To(ConsistOf(w.moved(before)))
	w.Expect(w.Writes()-writes).To(BeEquivalentTo(3), "one write for each object")
	w.Expect(w.Live().ResourceVersion).To(Equal(crd.ResourceVersion))

	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(Succeed())
	w.Expect(w.applySpec("v1", "old-tool", "owned-0", wholeSpec())).To(Succeed(), "by the old tool, as before")
	w.Expect(w.owners()).To(ConsistOf(w.moved(before)), "who owns what is as it was")

	w.Expect(w.applySpec("v1", "other-tool", "owned-1", spec{"size": int64(2)})).To(MatchError(ContainSubstring(`conflict with "old-tool"`)))
	fewer := wholeSpec()
	delete(fewer, "color")
	w.Expect(w.applySpec("v1", "old-tool", "owned-2", fewer)).To(Succeed())
	object, err := w.Objects("v1").Get(w.ctx, "owned-2", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(object.Object["spec"]).To(Equal(spec{"size": int64(1), "parts": []any{"head", "tail"}, "enabled": true}), "what its owner no longer applies goes")
	w.Expect(object.Object["status"]).To(Equal(map[string]any{"phase": "Ready"}))
}

// colorless is a CRD whose v1 has no spec.color, which objects may lose.
func colorless(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := widgets(t).WithStatus().Annotation(v1alpha1.AllowFieldLossAnnotation, "spec.color").Build()
	delete(crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "color")
	return crd
}

func TestAFieldThatTheStorageVersionLacksIsAllAnEntryLoses(t *testing.T) {
	t.Parallel()
	w := ownedWorld(t, colorless(t), 3)
	before := w.owners()
	w.Expect(strings.Join(before, "\n")).To(ContainSubstring(`"f:color":{},`))
	w.controller(w.requesting())
	w.eventuallyMigrated(3)
	want := w.moved(before)
	for i := range want {
		want[i] = strings.Replace(want[i], `"f:color":{},`, "", 1)
	}
	w.Expect(w.owners()).To(ConsistOf(want))

	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(Succeed())
	fewer := wholeSpec()
	delete(fewer, "color")
	w.Expect(w.applySpec("v1", "old-tool", "owned-0", fewer)).To(Succeed())
	w.Expect(w.owners()).To(ConsistOf(want))
}

// Of an object whose owners own nothing that v1 has, the API server must not get a list without any owner: it would
// leave all of it without one.
func TestAnObjectThatLosesAllItsEntriesKeepsAListThatTheServerAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, colorless(t))
	w.Expect(w.applySpec("v1alpha1", "old-tool", "painted", spec{"color": "green"})).To(Succeed())
	_, err := w.Objects("v1alpha1").Patch(w.ctx, "painted", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/keep"]}}`), metav1.PatchOptions{FieldManager: "labeller"})
	w.Expect(err).NotTo(HaveOccurred())
	entry := fmt.Sprintf(`{"manager":"old-tool","operation":"Apply","apiVersion":"%s/v1alpha1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:color":{}}}}`, w.GR.Group)
	_, err = w.Objects("v1alpha1").Patch(w.ctx, "painted", types.JSONPatchType, []byte(`[{"op":"replace","path":"/metadata/managedFields","value":[`+entry+`]}]`), metav1.PatchOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() {
		_, _ = w.Objects("v1").Patch(context.Background(), "painted", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	w.Flip("v1")

	w.controller(w.requesting())
	w.eventuallyMigrated(1)
	w.Expect(w.owners()).To(Equal([]string{`painted: old-tool Apply at ` + w.GR.Group + `/v1 owns {"f:metadata":{}}`}))

	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(Succeed())
	w.Expect(w.applySpec("v1", "old-tool", "painted", spec{"size": int64(2)})).To(Succeed())
	w.Expect(w.owners()).To(Equal([]string{`painted: old-tool Apply at ` + w.GR.Group + `/v1 owns {"f:spec":{"f:size":{}}}`}))
	object, err := w.Objects("v1").Get(w.ctx, "painted", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(object.GetLabels()).To(Equal(map[string]string{"a": "b"}), "what nobody owned stays")
	w.Expect(object.GetFinalizers()).To(Equal([]string{"example.com/keep"}))
}
