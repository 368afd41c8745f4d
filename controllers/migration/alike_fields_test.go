package migration_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Two fields that begin alike for as long as a message quotes, and only one of them may go.
func TestAPermissionIsForOneFieldThoughAnotherBeginsInTheSameWay(t *testing.T) {
	g := NewWithT(t)
	long, longer := strings.Repeat("a", 200), strings.Repeat("b", 200)
	schema := func(fields string) string {
		return "type: object\nproperties:\n  spec:\n    type: object\n    properties:\n      " + long + ":\n        type: object\n        properties:\n          " + longer +
			": {type: object, properties: {" + fields + "}}\n"
	}
	may := "spec." + long + "." + longer + ".may"
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Annotation(v1alpha1.AllowFieldLossAnnotation, may).
		Schema("v1alpha1", schema("may: {type: string}, maynot: {type: string}")).Schema("v1", schema("stays: {type: string}")).Build()
	w := running.Install(t, cp, crd)
	w.Create(1, builders.Each(func(u *unstructured.Unstructured) {
		u.Object["spec"] = map[string]any{long: map[string]any{longer: map[string]any{"may": "go", "maynot": "precious"}}}
	}))
	w.Flip("v1")
	running.Migration(t, cp.Config, running.Quick(crd.Spec.Group))

	g.Eventually(w.Reason, running.Soon).Should(BeElementOf(v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonMigrated))
	raw, err := cp.Etcd().Raw(t.Context(), w.GR, "default", "object-00000")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(ContainSubstring("precious"), "nothing allowed the loss")
}
