package install

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// What takes much memory comes together: passes over large metadata, looks for fields that a webhook converts, and the look for
// references through all of them, each with rooms of its own before they shared one.
func TestTheShippedMemoryIsEnoughForAllAtOnce(t *testing.T) {
	g, group := NewWithT(t), builders.UniqueGroup(t)
	hook := webhooks.Converting(t)
	hook.Rename("v1", "size", "replicas")
	gadgets := running.InstallFlipped(t, cp, builders.CRD(group, "gadgets").Versions("v1alpha1", "v1").Storage("v1alpha1").WithStatus().
		Schema("v1alpha1", smallMaps("size")).Schema("v1", smallMaps("replicas")).ConversionWebhook(hook.URL(), hook.CABundle()).Build(), 6,
		builders.Each(func(o *unstructured.Unstructured) {
			o.Object["spec"] = map[string]any{"size": int64(1), "items": slices.Repeat([]any{map[string]any{}}, 400_000)}
		}))
	const open = `any: {type: object, x-kubernetes-preserve-unknown-fields: true}`
	widgets := running.InstallFlipped(t, cp, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		Schema("v1alpha1", `{type: object, properties: {old: {type: string}, `+open+`}}`).Schema("v1", `{type: object, properties: {`+open+`}}`).Build(), 0)
	namespace := hostile(t, widgets)
	sets := []*running.Witness{gadgets, widgets}
	for range 3 {
		w := running.InstallFlipped(t, cp, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build(), 0)
		large(t, w, 30)
		sets = append(sets, w)
	}

	moult := Install(t, cp, "clusters/base")
	moult.lookForReferences(t)
	moult.Grant("memory-test-objects", lives(sets...)...)
	c := running.Client(t, cp.Config)
	for i, w := range sets {
		moult.inForce(t, "/apis/"+w.GR.Group+"/v1/"+w.GR.Resource, "moult-objects")
		w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.MigrateLabel, "true")
		})
		g.Expect(c.Create(t.Context(), &v1alpha1.VersionRemoval{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("r", i)},
			Spec: v1alpha1.VersionRemovalSpec{
				CRDName: w.GR.String(), Versions: []string{"v1alpha1"}, Require: []v1alpha1.Requirement{v1alpha1.NoReferences, v1alpha1.NoStashes},
			},
		})).To(Succeed())
	}
	began := time.Now()
	controller, within := moult.StartWithin("--references", "--survey-interval=2s")
	for _, w := range sets {
		g.Eventually(func() string {
			if controller.hasEnded() {
				StopTrying("moult-controller has ended").Now()
			}
			return w.Reason()
		}, enough, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
	}
	g.Consistently(controller.hasEnded, time.Minute, "1s").Should(BeFalse(), "while it looks for references")
	g.Expect(within.Kills()).To(BeZero())
	peak, err := within.Peak()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
}
