package rewrite

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Before Kubernetes 1.37 a list does not name the object whose version has left the CRD.
func TestAnObjectWhoseVersionHasLeftIsUnreadableWithoutItsName(t *testing.T) {
	g := NewWithT(t)
	answer := apierrors.NewInternalError(errors.New("request to convert CR from an invalid group/version: example.com/v1alpha1"))
	found := Unreadable(fmt.Errorf("no success for 1m0s: %w", answer), schema.GroupResource{Group: "example.com", Resource: "widgets"})
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].String()).To(Equal("an object that `moult doctor` finds: Unreadable: request to convert CR from an invalid group/version: example.com/v1alpha1"))

	stopped := (*Stopped)(nil)
	g.Expect(errors.As(stopFor(answer), &stopped)).To(BeTrue())
	g.Expect(stopped.Cause).To(Equal(Corrupt))
	g.Expect(Unreadable(apierrors.NewInternalError(errors.New("etcd is away")), schema.GroupResource{})).To(BeEmpty())
}
