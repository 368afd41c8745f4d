package webhooks

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Refusing has an admission webhook reject updates of the named objects, with the message, until Allow or the end of the
// test. Without names it only counts.
func Refusing(t testing.TB, config *rest.Config, gvr schema.GroupVersionResource, message string, names ...string) *Admission {
	t.Helper()
	g := gomega.NewWithT(t)
	admission, err := NewAdmission()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = admission.Close() })
	admission.RejectUpdates(message, names...)
	t.Cleanup(func() { _ = admission.Uninstall(context.Background(), config, gvr.GroupResource()) })
	g.Expect(admission.Install(t.Context(), config, gvr)).To(gomega.Succeed())
	return admission
}

// Converting runs a healthy conversion webhook until the end of the test.
func Converting(t testing.TB) *Conversion {
	t.Helper()
	conversion, err := NewConversion()
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { _ = conversion.Close() })
	return conversion
}
