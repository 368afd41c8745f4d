package removal_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// An answer names fields, which tenants make up. One that the API server refuses for its length would leave the gate as it was.
func TestAnAnswerThatNamesLongFieldsIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().
		Schema("v1alpha1", `{type: object, properties: {spec: {type: object, additionalProperties: {type: string}}}}`).
		Schema("v1", `{type: object, properties: {spec: {type: object}}}`).Build()
	gate := running.GateFor(running.InstallFlipped(t, cp, crd, 1, builders.Each(func(o *unstructured.Unstructured) {
		spec := map[string]any{}
		for i := range 100 {
			spec[fmt.Sprintf("%03d%s", i, strings.Repeat("<é", 500))] = "x"
		}
		o.Object["spec"] = spec
	})))
	running.Moult(t, cp.Config, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("False FieldsWouldBeLost Stalled"))
}
