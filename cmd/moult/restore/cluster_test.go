package restore

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// Objects without a namespace, which a webhook converts, come back at the storage version of the time.
func TestObjectsOfTheClusterBehindAWebhook(t *testing.T) {
	hook := webhooks.Converting(t)
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").ClusterScoped().ConversionWebhook(hook.URL(), hook.CABundle()))
	objects := func(version string) dynamic.ResourceInterface {
		return dynamic.NewForConfigOrDie(cp.Config).Resource(builders.Resource(w.CRD, version))
	}
	for i := range 3 {
		w.Eventually(func() error {
			_, err := objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": w.CRD.Spec.Group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": name(i)}, "spec": map[string]any{"color": fmt.Sprint(i)},
			}}, metav1.CreateOptions{})
			return err
		}, running.Soon).Should(Succeed())
	}
	colors := func(ctx context.Context) (all []any, err error) {
		list, err := objects("v1").List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, o := range list.Items {
				color, _, _ := unstructured.NestedString(o.Object, "spec", "color")
				all = append(all, color)
			}
		}
		return all, err
	}
	w.backup()
	w.Expect(objects("v1").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	w.Eventually(func() ([]any, error) { return colors(t.Context()) }, running.Soon).Should(BeEmpty())
	of, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 3}))
	w.Expect(colors(t.Context())).To(Equal([]any{"0", "1", "2"}))
}
