package removal

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// one is an API server that has one CRD.
type one struct {
	client.Reader
	crd *apiextensionsv1.CustomResourceDefinition
}

func (o one) Get(_ context.Context, _ types.NamespacedName, into client.Object, _ ...client.GetOption) error {
	if crd, whole := into.(*apiextensionsv1.CustomResourceDefinition); whole {
		o.crd.DeepCopyInto(crd)
	}
	return nil
}

// A CRD is read because a VersionRemoval names it, and a tenant may make one for each CRD of the cluster.
func TestWhatIsKeptOfACRD(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 100<<10)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: "widgets.example.com", UID: "u", Labels: map[string]string{v1alpha1.MigrateLabel: "true", fluxName: "crds", fluxNamespace: "flux-system", "example.com/any": "x"},
		Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"metadata":{"labels":{"moult.dev/migrate":"true"}},"spec":"` + long + `"}`,
			"example.com/load":                 long, v1alpha1.GateNamespacesAnnotation: "team-a", v1alpha1.BackupAnnotation: "b",
		},
	}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{}},
	}}}
	kept, err := newCRDReader(one{crd: crd}, clock.RealClock{}, v1alpha1.MigrateLabel).GetNow(t.Context(), crd.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Spec.Versions[0].Schema).To(BeNil())
	g.Expect(kept.Annotations).To(And(HaveKeyWithValue(v1alpha1.GateNamespacesAnnotation, "team-a"), HaveKeyWithValue(v1alpha1.BackupAnnotation, "b")))
	g.Expect(kept.Annotations).To(HaveEach(WithTransform(func(value string) int { return len(value) }, BeNumerically("<", 1024))))
	g.Expect(kept.Labels).NotTo(HaveKey("example.com/any"), "there may be a hundred thousand")
	g.Expect(labelorigin.Of(kept, v1alpha1.MigrateLabel)).To(Equal(labelorigin.Of(crd, v1alpha1.MigrateLabel)))
}
