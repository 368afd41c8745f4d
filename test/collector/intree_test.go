package collector

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// The in-tree migrator of the real kube-controller-manager trims storedVersions after a migration that failed, too. Here one of
// four objects has a field that v1 lacks, v1alpha1 is not served, and a policy refuses every write to that object until the
// in-tree migration has failed. In whatever order the two begin, Moult keeps the field, and the gate stays shut.

const (
	withNote    = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, note: {type: string}}}}}`
	withoutNote = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}`
	// inTree is the field manager of the in-tree migrator.
	inTree = "migration-runner-controller"
)

var storageVersionMigrations = schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: "v1", Resource: "storageversionmigrations"}

// refusing is a world with four objects stored at v1alpha1. The one called rose has a note, and cannot be written.
func refusing(t *testing.T) *world {
	t.Helper()
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		Schema("v1alpha1", withNote).Schema("v1", withoutNote)
	w := &world{Gomega: NewWithT(t), Gate: running.GateFor(running.Install(t, cp, crd.Build())), t: t}
	for _, name := range []string{"rose", "lily", "tulip", "nudge"} {
		spec := map[string]any{"size": int64(1)}
		if name == "rose" {
			spec["note"] = "keep"
		}
		w.create("v1alpha1", name, spec)
	}
	w.Flip("v1")
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.refuse()
	return w
}

func (w *world) create(version, name string, spec map[string]any) {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.GR.Group + "/" + version, "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
	_, err := w.Objects(version).Create(w.t.Context(), object, metav1.CreateOptions{FieldManager: "kubectl"})
	w.Expect(err).NotTo(HaveOccurred())
}

// refuse has the API server refuse every update of rose.
func (w *world) refuse() {
	w.t.Helper()
	policies := kubernetes.NewForConfigOrDie(cp.Config).AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(w.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.GR.Group},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{w.GR.Group}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "object.metadata.name != 'rose'", Message: "rose is not to be touched"}},
		},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(w.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.GR.Group},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: w.GR.Group, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { w.allow() })
	w.Eventually(w.touches("rose"), soon).Should(MatchError(ContainSubstring("not to be touched")))
}

// allow takes the policy away.
func (w *world) allow() {
	policies := kubernetes.NewForConfigOrDie(cp.Config).AdmissionregistrationV1()
	_ = policies.ValidatingAdmissionPolicyBindings().Delete(w.t.Context(), w.GR.Group, metav1.DeleteOptions{})
	_ = policies.ValidatingAdmissionPolicies().Delete(w.t.Context(), w.GR.Group, metav1.DeleteOptions{})
}

// touches reports whether an object may be written, without writing it.
func (w *world) touches(name string) func() error {
	return func() error {
		_, err := w.Objects("v1").Patch(w.t.Context(), name, types.MergePatchType, []byte(`{"metadata": {"labels": {"touched": "true"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func migrations() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(cp.Config).Resource(storageVersionMigrations)
}

// asksInTree creates the StorageVersionMigration.
func (w *world) asksInTree() {
	w.t.Helper()
	wish := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": map[string]any{"name": w.GR.Group},
		"spec": map[string]any{"resource": map[string]any{"group": w.GR.Group, "resource": w.GR.Resource}},
	}}
	_, err := migrations().Create(w.t.Context(), wish, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// inTreeEnd is how the in-tree migration has ended. It begins when the garbage collector's cache has seen an object that was
// written after the request, so one is written each time.
func (w *world) inTreeEnd() func() (string, error) {
	var n atomic.Int64
	return func() (string, error) {
		patch := fmt.Appendf(nil, `{"spec": {"size": %d}}`, n.Add(1))
		if _, err := w.Objects("v1").Patch(w.t.Context(), "nudge", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl"}); err != nil {
			return "", err
		}
		object, err := migrations().Get(w.t.Context(), w.GR.Group, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return plan.MigrationOf(object).Ended, nil
	}
}

// inTreeFails waits until the in-tree migration has failed, and has trimmed storedVersions all the same.
func (w *world) inTreeFails() {
	w.t.Helper()
	w.Eventually(w.inTreeEnd(), 2*soon, "1s").Should(Equal("Failed"))
	w.Eventually(w.StoredVersions, soon).Should(Equal([]string{"v1"}))
}

// moults runs Moult until the test ends.
func (w *world) moults() { running.Moult(w.t, cp.Config, running.Quick(w.GR.Group), removal.Options{}) }

// rose is what etcd has of the object that was refused.
func (w *world) rose() (string, error) {
	raw, err := cp.Etcd().Raw(w.t.Context(), w.GR, "default", "rose")
	return string(raw), err
}

func TestAFailedInTreeMigrationOpensNothing(t *testing.T) {
	orders := map[string]func(*world){
		"Moult first": func(w *world) {
			w.moults()
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost))
			w.asksInTree()
			w.inTreeFails()
		},
		"the in-tree migration first": func(w *world) {
			w.asksInTree()
			w.inTreeFails()
			w.moults()
		},
		"both at once": func(w *world) {
			w.asksInTree()
			w.moults()
			w.inTreeFails()
		},
	}
	worlds := map[string]*world{}
	for order := range orders {
		worlds[order] = refusing(t)
	}
	collects(t, "storage-version-migrator-controller")
	for order, begin := range orders {
		t.Run(order, func(t *testing.T) {
			w := worlds[order]
			w.t, w.Gomega = t, NewWithT(t)
			w.Ask()
			begin(w)
			w.allow() // now nothing but Moult's own guard keeps it from writing rose
			w.Eventually(w.touches("rose"), soon).Should(Succeed())

			kept := And(HavePrefix(`{"apiVersion":"`+w.GR.Group+`/v1alpha1"`), ContainSubstring(`"note":"keep"`))
			w.Eventually(func() string { return w.Condition().Message }, soon).Should(And(
				ContainSubstring("spec.note (4 objects)"), ContainSubstring(" may have spec.note"), ContainSubstring("status.storedVersions was trimmed to [v1] by "+inTree+", without a proof")))
			w.Consistently(w.rose, 10*time.Second, "500ms").Should(kept)
			w.Expect(w.Verdict()).NotTo(HavePrefix("True"))
			w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonFieldsWouldBeLost))

			w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.note"}
			})
			w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"), "what is asked for goes on")
			w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 4}))
		})
	}
}
