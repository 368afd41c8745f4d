package conformance

import (
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// What the engine has of an object, stored at v1 and read at v1alpha1 again, is byte by byte what a real API server has.
func TestEachObjectIsWhatAnAPIServerMakesOfIt(t *testing.T) {
	t.Parallel()
	var pairs map[string]struct{ V1alpha1, V1 string }
	content, err := os.ReadFile("../../policies/conversion/testdata/pairs.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(yaml.UnmarshalStrict(content, &pairs)).To(Succeed())
	objects := map[string][]string{
		"v1 knows less and is stricter": {
			`spec: {a: x}`, `spec: {a: long, num: 4}`, `spec: {l: [{k: a, v: 0.5}, {k: b}]}`, `spec: {l: [{k: a}, {k: a}], a: x}`, `spec: {l: [{v: 1}], a: x}`,
			`spec: {l: [], a: x}`, `spec: {a: x, num: 9007199254740993}`, `{}`,
		},
		"v1alpha1 keeps all and v1 a map of strings": {
			`spec: {a: x, b: null}`, `spec: {a: {b: [1, {c: 2.5}]}}`, `spec: [1, 2]`, `{other: {deep: [[[]]]}, spec: {}}`, `spec: {a.b: x, "c[0]": y, "": z}`, `spec: 5`,
		},
		"v1 embeds resources, reads both kinds of numbers and has a default for null": {
			`e: {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}, unknown: 1}, spec: {x: 1}}`, `e: {apiVersion: v1, kind: Pod, metadata: {labels: {a: 1}}}`,
			`e: {apiVersion: 3, kind: Pod}`, `e: {metadata: []}`, `e: {kind: Pod}`, `{i: 5, z: null}`, `{i: "50%", z: x}`, `{i: "5"}`,
		},
		"defaults are nested and v1 lets nothing change": {
			`{}`, `spec: {}`, `spec: {a: {}}`, `spec: {a: {b: 3}}`, `spec: {a: {b: 1}}`, `spec: {a: {b: 4}}`,
		},
	}
	NewWithT(t).Expect(objects).To(HaveLen(len(pairs)), "objects for each pair")
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(objects[name]).NotTo(BeEmpty())
			crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
				Schema("v1alpha1", pair.V1alpha1).Schema("v1", pair.V1).Build()
			againstAPIServer(t, crd, objects[name])
		})
	}
}

func againstAPIServer(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, texts []string) {
	t.Helper()
	g, w := NewWithT(t), running.Install(t, cp, crd)
	var names []string
	for i, text := range texts {
		name, object := fmt.Sprintf("o%d", i), objectOf(g, text)
		object["apiVersion"], object["kind"], object["metadata"] = crd.Spec.Group+"/v1alpha1", "Widget", map[string]any{"name": name}
		_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred(), text)
		names = append(names, name)
	}
	e, err := conversion.New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	e = e.StoredAt("v1")
	was := map[string]*unstructured.Unstructured{}
	for _, name := range names {
		was[name], err = w.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	w.Flip("v1")
	for i, name := range names {
		trip := e.Trips(t.Context(), []map[string]any{was[name].Object})[0]
		var err error
		g.Eventually(func() int { // until it is stored at v1, or never
			_, err = w.Objects("v1").Patch(t.Context(), name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			if err != nil {
				return len(names)
			}
			return w.Stored()["v1"]
		}, "20s", "100ms").Should(BeNumerically(">", 0))
		told := fmt.Sprintf("%s: %v, and rehearsed: %+v", texts[i], err, trip.Outcome)
		g.Expect(apierrors.IsInvalid(err)).To(Equal(len(trip.Refused) > 0), told)
		g.Expect(err != nil).To(Equal(len(trip.Refused)+len(trip.Failed) > 0), told)
		if err != nil {
			continue
		}
		for version, want := range map[string]map[string]any{"v1": trip.There, "v1alpha1": trip.Back} {
			now, err := w.Objects(version).Get(t.Context(), name, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytesOf(now.Object)).To(Equal(bytesOf(want)), told)
		}
	}
}

func objectOf(g *WithT, text string) (object map[string]any) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(raw, &object)).To(Succeed())
	return object
}

// bytesOf are those of all but the metadata: 5 and 5.0 are two things.
func bytesOf(object map[string]any) string {
	object = runtime.DeepCopyJSON(object)
	delete(object, "metadata")
	raw, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
