package embeddedcopies

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Who writes a copy writes the name of its owner. What no object can be called is not asked for, again and again, as if the network failed.
func TestANameThatNoObjectCanHaveIsNoOwner(t *testing.T) {
	g := NewWithT(t)
	of := schema.GroupVersion{Group: "kubevirt.io", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{of})
	mapper.Add(of.WithKind("VirtualMachine"), meta.RESTScopeNamespace)
	v := &visit{Migration: &Migration{Mapper: mapper}} // without a client
	ref := &metav1.OwnerReference{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachine", Name: "../../x"}
	owner, err := v.readOwner(t.Context(), "default", ref)
	reason, why := judged(ref, owner, err)
	g.Expect(reason).To(Equal(Terminating))
	g.Expect(why).To(Equal("its owner does not exist"))
}
