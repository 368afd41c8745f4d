package migration_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/builders"
)

// What is written and is not part of a migration: owner references, annotations of tools, and what names stashed copies.

// losses are those of a process that begins now, with a settle time of an hour.
func (w *world) losses() *migration.Losses {
	w.t.Helper()
	opts := w.quick()
	opts.Settle = time.Hour
	httpClient, err := rest.HTTPClientFor(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	losses, err := migration.NewLosses(cp.Config, httpClient, opts)
	w.Expect(err).NotTo(HaveOccurred())
	return losses
}

// An API server that lags goes by schemas of before, and drops what they do not have.
func TestNoObjectIsWrittenBeforeItsCRDHasBeenTheSameForASettleTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1").Build())
	losses, at := w.losses(), w.GR.WithVersion("v1")
	of := func() error {
		_, done, err := losses.Of(w.ctx, at)
		if err == nil {
			done()
		}
		return err
	}
	waits := func(d time.Duration) {
		w.t.Helper()
		err := (*rewrite.Settling)(nil)
		w.Expect(of()).To(BeAssignableToTypeOf(err))
		w.Expect(of()).To(HaveField("For", BeNumerically("~", d, time.Minute)))
	}
	waits(time.Hour)
	w.clock.Leap(40 * time.Minute)
	waits(20 * time.Minute)
	w.clock.Leap(20 * time.Minute)
	w.Expect(of()).To(Succeed())

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, "example.com/note", "new")
	})
	w.Expect(of()).To(Succeed(), "schemas and conversion are as they were")
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["late"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
	waits(time.Hour)
	losses.DryRun = true
	w.Expect(of()).To(Succeed(), "nothing is written")
	losses.DryRun, at = false, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	w.Expect(of()).To(Succeed(), "they have no CRD")
}

func TestAdmissionIsAskedAboutWhateverIsWritten(t *testing.T) {
	t.Parallel()
	w := secretive(t, removedByWebhook)
	losses := w.losses()
	losses.DryRun = true
	why := func(name string) (string, error) {
		return rewrite.LossOf(w.ctx, losses, w.GR.WithVersion("v1"), types.NamespacedName{Namespace: "default", Name: name}, true)
	}
	w.Expect(why("object-00000")).To(HavePrefix("spec.secret would be lost or changed at the write (exempt Moult's, or allow it by moult.dev/allow-field-loss) by a mutating webhook or policy (most likely stamp."))
	w.Expect(why("object-00001")).To(BeEmpty())
	w.Expect(w.raw("object-00000")).To(ContainSubstring(`"secret":"kept"`))

	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AllowFieldLossAnnotation, "spec.secret")
	})
	w.Expect(why("object-00000")).To(BeEmpty())
}
