package restore

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/running"
)

// migrated is a bridge whose objects have lost their field to a migration that took a backup.
func migrated(t *testing.T, n int) *world {
	t.Helper()
	w := bridge(t, n)
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s", "--backup", w.file)
	w.Expect(got.Code).To(Equal(0), got.ErrOut)
	w.Expect(w.clientIDs()).To(BeEmpty())
	return w
}

// unserves takes a version from the clients.
func (w *world) unserves(version string) {
	w.T.Helper()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crds.Version(crd, version).Served = false })
	w.Eventually(func() bool {
		_, err := w.Objects(version).List(w.T.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	}, running.Soon).Should(BeTrue())
}

// gains gives the schema of v1 the field of v1alpha1.
func (w *world) gains() {
	w.T.Helper()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		spec := crds.Version(crd, "v1").Schema.OpenAPIV3Schema.Properties["spec"]
		spec.Properties["clientId"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
	w.make("v1", "probe", map[string]any{"name": "probe"})
	w.Eventually(func() any {
		w.patch("v1", "probe", "hand", map[string]any{"spec": map[string]any{"clientId": "x"}})
		return w.get("v1", "probe").Object["spec"].(map[string]any)["clientId"]
	}, running.Soon).Should(Equal("x"), "the API server takes a moment to have a schema")
}

// Only the copy at a version that is not served any more shows a field.
func TestWhatOnlyAnUnservedVersionShowsIsNamedOrRestored(t *testing.T) {
	w := migrated(t, 4)
	w.unserves("v1alpha1")
	for _, args := range [][]string{{}, {"--dry-run"}, {"--overwrite"}, {"--fields", "spec.clientId"}, {"--version", "v1"}} {
		of, code := w.restore(args...)
		w.Expect(code).To(Equal(cli.ExitNotDone), "%v: %+v", args, of)
		w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 3, restore.Differs: 1}), "%v", args)
		w.Expect(of.Results).To(ConsistOf(And(HaveField("Object", "default/"+name(1)), HaveField("Why", ContainSubstring("v1 does not have ")),
			HaveField("Paths", []string{"spec.clientId at v1alpha1"}))), "%v", args)
	}
	of, code := w.restore("--fields", "spec.name")
	w.Expect(code).To(Equal(cli.ExitDone), "a field that is not asked for is not named: %+v", of)

	w.gains()
	w.patch("v1", name(1), "hand", map[string]any{"spec": map[string]any{"size": 5}})
	of, code = w.restore("--fields", "spec.clientId")
	w.Expect(code).To(Equal(cli.ExitDone), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 3, restore.PutBack: 1}))
	w.Expect(w.specs()).To(HaveKeyWithValue(name(1), map[string]any{"name": "rose", "size": int64(5), "clientId": "client-1"}))

	w.delete()
	of, code = w.restore()
	w.Expect(code).To(Equal(cli.ExitDone), "%+v", of)
	w.Expect(w.specs()).To(HaveKeyWithValue(name(1), map[string]any{"name": "rose", "size": int64(1), "clientId": "client-1"}))
	w.Expect(w.specs()).To(HaveKeyWithValue(name(2), map[string]any{"name": "rose", "size": int64(1)}))
}

// A field comes from the copy that shows it, and is written at the version that shows what was written since.
func TestAFieldIsPutBackBesideWhatOnlyTheStorageVersionHas(t *testing.T) {
	w := migrated(t, 2)
	w.gains()
	w.patch("v1", name(1), "hand", map[string]any{"spec": map[string]any{"size": 5}})
	of, code := w.restore("--fields", "spec.clientId")
	w.Expect(code).To(Equal(cli.ExitDone), "%+v", of)
	w.Expect(w.specs()).To(HaveKeyWithValue(name(1), map[string]any{"name": "rose", "size": int64(5), "clientId": "client-1"}))
}
