package conversion

import (
	"flag"
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

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

// TestMain starts a control plane, but not in each process that looks for inputs.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		os.Exit(m.Run())
	}
	controlplane.Run(m, &cp)
}

// What the engine has of an object, stored at v1 and read at v1alpha1 again, is byte by byte what a real API server has.
func TestEachObjectIsWhatAnAPIServerMakesOfIt(t *testing.T) {
	for i, objects := range [][]string{
		{
			`spec: {a: x}`, `spec: {a: long, n: 4}`, `spec: {l: [{k: a, v: 0.5}, {k: b}]}`, `spec: {l: [{k: a}, {k: a}], a: x}`, `spec: {l: [{v: 1}], a: x}`,
			`spec: {l: [], a: x}`, `spec: {a: x, n: 9007199254740993}`, `{}`,
		},
		{
			`spec: {a: x, b: null}`, `spec: {a: {b: [1, {c: 2.5}]}}`, `spec: [1, 2]`, `{other: {deep: [[[]]]}, spec: {}}`, `spec: {a.b: x, "c[0]": y, "": z}`, `spec: 5`,
		},
		{
			`e: {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}, unknown: 1}, spec: {x: 1}}`, `e: {apiVersion: v1, kind: Pod, metadata: {labels: {a: 1}}}`,
			`e: {apiVersion: 3, kind: Pod}`, `e: {metadata: []}`, `e: {kind: Pod}`, `{i: 5, z: null}`, `{i: "50%", z: x}`, `{i: "5"}`,
		},
		{
			`{}`, `spec: {}`, `spec: {a: {}}`, `spec: {a: {b: 3}}`, `spec: {a: {b: 1}}`, `spec: {a: {b: 4}}`,
		},
	} {
		t.Run(fmt.Sprint(schemas[i]), func(t *testing.T) {
			t.Parallel()
			againstAPIServer(t, schemas[i], objects)
		})
	}
}

func againstAPIServer(t *testing.T, pair [2]string, texts []string) {
	t.Helper()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
	for i := range crd.Spec.Versions {
		props := &apiextensionsv1.JSONSchemaProps{}
		g.Expect(yaml.Unmarshal([]byte(pair[i]), props)).To(Succeed())
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = props
	}
	w := running.Install(t, cp, crd)
	var names []string
	for i, text := range texts {
		name := fmt.Sprintf("o%d", i)
		object := objectOf(g, text)
		object["apiVersion"], object["kind"], object["metadata"] = crd.Spec.Group+"/v1alpha1", "Widget", map[string]any{"name": name}
		_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred(), text)
		names = append(names, name)
	}
	crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = false, true
	e, err := New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	was := map[string]*unstructured.Unstructured{}
	for _, name := range names {
		was[name], err = w.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	w.Flip("v1")
	for i, name := range names {
		o, stored, back := e.through(t, was[name].Object)
		var err error
		g.Eventually(func() int { // until it is stored at v1, or never
			_, err = w.Objects("v1").Patch(t.Context(), name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			if err != nil {
				return len(names)
			}
			return w.Stored()["v1"]
		}, "20s", "100ms").Should(BeNumerically(">", 0))
		told := fmt.Sprintf("%s: %v, and rehearsed: %+v", texts[i], err, o)
		g.Expect(apierrors.IsInvalid(err)).To(Equal(len(o.Refused) > 0), told)
		g.Expect(err != nil).To(Equal(len(o.Refused)+len(o.Failed) > 0), told)
		if err != nil {
			continue
		}
		now, err := w.Objects("v1").Get(t.Context(), name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(content(now.Object)).To(Equal(content(stored)), told)
		now, err = w.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(content(now.Object)).To(Equal(content(back)), told)
	}
}

// through is an outcome, with the object as it is stored, and as it is read again.
func (e *Engine) through(t *testing.T, object map[string]any) (o Outcome, stored, back map[string]any) {
	t.Helper()
	j := e.start(object)
	e.convert(t.Context(), []*journey{j}, e.Storage, func(j *journey, there map[string]any) { j.at = there })
	if !j.ended {
		e.store(t.Context(), j)
		stored = j.at
		e.convert(t.Context(), []*journey{j}, j.outcome.From, func(j *journey, is map[string]any) { back = is; e.compare(j, is) })
	}
	return j.outcome, stored, back
}

// content is all but the metadata, as bytes: 5 and 5.0 are two things.
func content(object map[string]any) string {
	object = runtime.DeepCopyJSON(object)
	delete(object, "metadata")
	raw, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
