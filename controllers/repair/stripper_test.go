package repair

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestOfACRDNoMoreIsKeptThanIsLookedAt(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 200<<10)
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com", Finalizers: []string{long}, OwnerReferences: []metav1.OwnerReference{{Name: long}},
			Annotations: map[string]string{"any": long, v1alpha1.PausedAnnotation: long, v1alpha1.RepairOwnersAnnotation: "true"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList", Categories: strings.Split(long, "")},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, DeprecationWarning: &long}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: apiextensionsv1.CustomResourceDefinitionNames{Categories: strings.Split(long, "")}},
	}
	_, err := stripper(v1alpha1.MigrateLabel)(crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(crd.Size()).To(BeNumerically("<", 2<<10))
	g.Expect(crd.Annotations).To(HaveKeyWithValue(v1alpha1.RepairOwnersAnnotation, "true"))
	g.Expect(crd.Spec.Names).To(Equal(apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList"}))
}
