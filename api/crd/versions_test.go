package crd

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func withVersions(storage string, names ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for _, name := range names {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Storage: name == storage})
	}
	return crd
}

func TestWhatIsACRD(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Is("apiextensions.k8s.io/v1", "CustomResourceDefinition")).To(BeTrue())
	g.Expect(Is("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")).To(BeTrue(), "no server knows it any more, but Git may hold it")
	g.Expect(Is("example.com/v1", "CustomResourceDefinition")).To(BeFalse())
	g.Expect(Is("apiextensions.k8s.io/v1", "ConversionReview")).To(BeFalse())
	g.Expect(Is("", "")).To(BeFalse())
}

func TestWhichVersionIsStored(t *testing.T) {
	g := NewWithT(t)
	g.Expect(StorageVersion(withVersions("v1", "v1alpha1", "v1"))).To(Equal("v1"))
	g.Expect(StorageVersion(withVersions("", "v1alpha1"))).To(BeEmpty())
}

func TestWhichVersionsAreServed(t *testing.T) {
	g := NewWithT(t)
	crd := withVersions("v1", "v1alpha1", "v1beta1", "v1")
	crd.Spec.Versions[0].Served, crd.Spec.Versions[2].Served = true, true
	g.Expect(Versions(crd)).To(Equal([]string{"v1alpha1", "v1beta1", "v1"}))
	g.Expect(ServedBeside(crd, "v1")).To(Equal([]string{"v1alpha1"}))
	g.Expect(Unserved(crd)).To(Equal([]string{"v1beta1"}))
}

func TestWhetherMoultMayTouchIt(t *testing.T) {
	g := NewWithT(t)
	crd := withVersions("v1", "v1")
	g.Expect(OptedIn(crd, "moult.dev/migrate")).To(BeFalse())
	g.Expect(Paused(crd)).To(BeFalse())
	crd.Labels, crd.Annotations = map[string]string{"moult.dev/migrate": "true"}, map[string]string{"moult.dev/paused": "true"}
	g.Expect(OptedIn(crd, "moult.dev/migrate")).To(BeTrue())
	g.Expect(OptedIn(crd, "example.com/migrate")).To(BeFalse(), "another installation's")
	g.Expect(Paused(crd)).To(BeTrue())
	crd.Spec.Group = "example.com"
	g.Expect(InScope(crd, nil)).To(BeTrue())
	g.Expect(InScope(crd, []string{"example.com"})).To(BeTrue())
	g.Expect(InScope(crd, []string{"other.com"})).To(BeFalse())
	crd.Labels["moult.dev/migrate"], crd.Annotations["moult.dev/paused"] = "yes", "yes"
	g.Expect(OptedIn(crd, "moult.dev/migrate")).To(BeFalse())
	g.Expect(Paused(crd)).To(BeFalse())
}

func TestWhichVersionsLeave(t *testing.T) {
	g := NewWithT(t)
	before := withVersions("v1", "v1alpha1", "v1beta1", "v1")
	g.Expect(Leaving(before, withVersions("v2", "v1", "v2"))).To(Equal([]string{"v1alpha1", "v1beta1"}))
	g.Expect(Leaving(before, before)).To(BeEmpty())
	g.Expect(Leaving(nil, before)).To(BeEmpty(), "it comes")
	g.Expect(Leaving(before, nil)).To(BeEmpty(), "it goes as a whole")
}
