package conformance

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/generate"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestARealAPIServerTakesWhatIsMade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	schema, err := os.ReadFile("../../policies/generate/testdata/all.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1").Schema("v1", string(schema)).Build()
	e, err := conversion.New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	options := generate.Options{Version: "v1", APIVersion: crd.Spec.Group + "/v1", Kind: crd.Spec.Names.Kind, Namespaced: true}
	objects := generate.New(e, options, rand.New(rand.NewPCG(7, 1))).Make(t.Context(), 200).Objects
	g.Expect(objects).To(HaveLen(200))

	w := running.Install(t, cp, crd)
	for _, object := range objects {
		raw, err := json.Marshal(object)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = w.Objects("v1").Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldValidation: "Strict"})
		g.Expect(err).NotTo(HaveOccurred(), string(raw))
	}
}
