package migrate

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
)

func TestMigrateDropsNoFieldThatTheCRDDoesNotLetGo(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true").
		Schema("v1alpha1", "{type: object, properties: {spec: {type: object, properties: {clientId: {type: string}}}}}").
		Schema("v1", "{type: object, properties: {spec: {type: object}}}"))
	_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "rose"}, "spec": map[string]any{"clientId": "x"},
	}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Flip("v1")

	for _, args := range [][]string{{"--dry-run"}, {"--settle", "1s"}} {
		got := w.Run(append([]string{"migrate", w.CRD.Name}, args...)...)
		w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
		w.Expect(got.ErrOut).To(And(ContainSubstring("FieldsWouldBeLost: objects have fields that v1 does not have, and would lose them for good: spec.clientId (1 object at v1alpha1)"),
			ContainSubstring(`annotation moult.dev/allow-field-loss: "spec.clientId" on the CRD`), ContainSubstring("default/rose has spec.clientId")))
		w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1}))
	}

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.clientId"}
	})
	got := w.Run("migrate", w.CRD.Name, "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.Out).To(HaveSuffix("  would be dropped: spec.clientId of v1alpha1 (1 object, for example default/rose)\n"))
	got = w.Run("migrate", w.CRD.Name, "--settle", "1s", "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.ErrOut).To(ContainSubstring(w.CRD.Name + ": dropped, as the storage version does not have it: spec.clientId of v1alpha1 (1 object, for example default/rose)"))
	w.Expect(got.Out).To(ContainSubstring(`"field": "spec.clientId"`))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 1}))
}

// One field may go, and another one holds the migration.
func TestMigrateDropsNothingWhereItRewritesNothing(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true").
		Schema("v1alpha1", "{type: object, properties: {spec: {type: object, properties: {clientId: {type: string}, secret: {type: string}}}}}").
		Schema("v1", "{type: object, properties: {spec: {type: object}}}"))
	_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "rose"}, "spec": map[string]any{"clientId": "x", "secret": "y"},
	}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Flip("v1")
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.clientId"}
	})

	got := w.Run("migrate", w.CRD.Name, "--settle", "1s", "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(ContainSubstring("FieldsWouldBeLost"))
	w.Expect(got.ErrOut + got.Out).NotTo(ContainSubstring("dropped"))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1}))
}
