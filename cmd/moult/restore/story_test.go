package restore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A bridge as an operator had it: v1 has lost three fields, and nothing converts.
const (
	bridgeBefore = `{type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}, enableMetrics: {type: boolean},
		authentication: {type: object, properties: {type: {type: string}, clientId: {type: string}, tokenEndpointUri: {type: string}}}}}}}`
	bridgeAfter = `{type: object, properties: {spec: {type: object, properties: {replicas: {type: integer},
		authentication: {type: object, properties: {type: {type: string}}}}}}}`
)

// The whole story of a field that goes: it is rehearsed, backed up, held, let go, and brought back. What is stored is
// read from etcd.
func TestAFieldThatGoesIsNamedHeldLetGoAndBroughtBack(t *testing.T) {
	const n = 50
	lost := map[string]map[string]any{
		name(7):  {"replicas": int64(3), "authentication": map[string]any{"type": "oauth", "clientId": "bridge", "tokenEndpointUri": "https://example.com"}},
		name(11): {"enableMetrics": true},
		name(42): {"authentication": map[string]any{"clientId": "other"}},
	}
	names := []string{"default/" + name(7), "default/" + name(11), "default/" + name(42)}
	group := builders.UniqueGroup(t)
	w := newWorld(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		Schema("v1alpha1", bridgeBefore).Schema("v1", bridgeAfter))
	for i := range n {
		spec := lost[name(i)]
		if spec == nil {
			spec = map[string]any{"replicas": int64(1)}
		}
		w.make("v1alpha1", name(i), spec)
	}

	w.Expect(w.rehearsed()).To(Equal(map[string][]string{
		"spec.authentication.clientId": {names[0], names[2]}, "spec.authentication.tokenEndpointUri": {names[0]}, "spec.enableMetrics": {names[1]},
	}))
	w.backup()

	w.Flip("v1")
	running.Migration(t, cp.Config, running.Quick(group))
	w.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonFieldsWouldBeLost))
	w.Expect(w.Condition().Message).To(ContainSubstring("spec.authentication.clientId (2 objects at v1alpha1)"))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": n}))
	w.Expect(w.raw(name(7))).To(And(ContainSubstring(`"clientId":"bridge"`), ContainSubstring("tokenEndpointUri")))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.authentication.clientId,spec.authentication.tokenEndpointUri,spec.enableMetrics"}
	})
	w.Eventually(w.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": n}))
	w.Expect(w.raw(name(7))).To(And(ContainSubstring(`"replicas":3`), Not(ContainSubstring(`"clientId"`))))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { // they are needed after all
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Schema = w.CRD.Spec.Versions[0].Schema.DeepCopy()
		}
	})
	w.Eventually(func() map[string]map[string]any {
		_, _ = w.restore("--overwrite") // until the API server has the new schema
		found := map[string]map[string]any{}
		for name, object := range w.all("v1") {
			if _, there := lost[name]; there {
				found[name], _ = object["spec"].(map[string]any)
			}
		}
		return found
	}, running.Soon, "200ms").Should(Equal(lost))
	w.Expect(w.raw(name(7))).To(And(ContainSubstring(`"clientId":"bridge"`), ContainSubstring(group+"/v1\"")))
	of, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", of)
}

// manifest is a file with the CRD, which stores at a version.
func (w *world) manifest(storage string) (file string) {
	w.T.Helper()
	head := w.CRD.DeepCopy()
	head.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	for i := range head.Spec.Versions {
		head.Spec.Versions[i].Storage = head.Spec.Versions[i].Name == storage
	}
	content, err := yaml.Marshal(head)
	w.Expect(err).NotTo(HaveOccurred())
	file = filepath.Join(w.T.TempDir(), "crd.yaml")
	w.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	return file
}

// rehearsed are the fields that would be lost at v1, and of which objects.
func (w *world) rehearsed() map[string][]string {
	w.T.Helper()
	file := w.manifest("v1")
	got := w.Run("rehearse", "--crds", file, "-o", "json")
	w.Expect(got.Code).To(Equal(1), got.ErrOut)
	report := conversion.Report{}
	w.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	found := map[string][]string{}
	for _, group := range report.CRDs[0].Lost {
		found[group.What] = group.Examples
	}
	return found
}

// raw is what etcd has of an object.
func (w *world) raw(name string) string {
	w.T.Helper()
	raw, err := cp.Etcd().Raw(w.T.Context(), w.GR, "default", name)
	w.Expect(err).NotTo(HaveOccurred())
	return string(raw)
}
