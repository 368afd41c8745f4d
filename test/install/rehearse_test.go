package install

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// packed are objects of about a megabyte, each of which takes another multiple of it when it is decoded: 27, 35, 11 and 7.
var packed = []func() any{
	func() any { return slices.Repeat([]any{map[string]any{}}, 400_000) },
	func() any { return slices.Repeat([]any{map[string]any{"": int64(0)}}, 100_000) },
	func() any { return slices.Repeat([]any{"a"}, 300_000) },
	func() any {
		keys := map[string]any{}
		for i := range 80_000 {
			keys[fmt.Sprintf("k%05d", i)] = int64(i)
		}
		return keys
	},
}

// With --rehearse, each object is converted there and back before the first write. One that does not fit into the memory so is named.
func TestTheShippedMemoryIsEnoughToRehearse(t *testing.T) {
	g, made := NewWithT(t), atomic.Int64{}
	fits := losing(t, 3*len(packed), func() any { return packed[int(made.Add(1))%len(packed)]() })
	large := losing(t, 1, func() any { return slices.Repeat([]any{map[string]any{"": int64(0)}}, 160_000) })
	grows := losing(t, 1, func() any { return slices.Repeat([]any{map[string]any{"": int64(0)}}, 25_000) }, fourfold)
	moult := Install(t, cp, "clusters/base")
	moult.Grant("memory-test-objects", lives(fits, large, grows)...)
	moult.inForce(t, "/apis/"+fits.GR.Group+"/v1/widgets", "moult-objects")
	began := time.Now()
	controller, within := moult.StartWithin("--rehearse")
	alive := func() error {
		if !controller.hasEnded() {
			return nil
		}
		kills, err := within.Kills()
		return StopTrying(fmt.Sprintf("moult-controller has ended; killed for memory %d times", kills)).Wrap(err)
	}
	g.Eventually(func() (string, error) { return fits.Reason(), alive() }, 3*time.Minute, "500ms").Should(Equal(v1alpha1.ReasonFieldsWouldBeLost), func() string { return fits.Condition().Message })
	g.Expect(fits.Condition().Message).To(ContainSubstring("spec.size (12 objects "))
	g.Eventually(func() (string, error) { return large.Condition().Message, alive() }, time.Minute, "500ms").Should(ContainSubstring("when it is decoded, and the controller has memory for 40"))
	g.Expect(large.Reason()).To(Equal(v1alpha1.ReasonConversionUnavailable))
	g.Eventually(func() (string, error) { return grows.Condition().Message, alive() }, time.Minute, "500ms").Should(ContainSubstring("the webhook answers what takes"))
	g.Expect(grows.Reason()).To(Equal(v1alpha1.ReasonConversionUnavailable))
	g.Expect(within.Kills()).To(BeZero())
	peak, err := within.Peak()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
}

// fourfold has an object grow each time that it is converted.
func fourfold(object *unstructured.Unstructured, _, _ string) {
	spec, _ := object.Object["spec"].(map[string]any)
	items, _ := spec["any"].([]any)
	spec["any"] = slices.Repeat(items, 4)
}

// losing are n objects of which a field would be lost.
func losing(t *testing.T, n int, load func() any, changes ...webhooks.Change) *running.Witness {
	t.Helper()
	hook := webhooks.Converting(t)
	for _, change := range changes {
		hook.Change(change)
	}
	schema := func(more string) string {
		return `{type: object, properties: {spec: {type: object, x-kubernetes-map-type: atomic, properties: {any: {x-kubernetes-preserve-unknown-fields: true}` + more + `}}}}`
	}
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").WithStatus().Label(v1alpha1.MigrateLabel, "true").
		Schema("v1alpha1", schema(", size: {type: integer}")).Schema("v1", schema("")).ConversionWebhook(hook.URL(), hook.CABundle()).Build()
	return running.InstallFlipped(t, cp, crd, n, builders.Each(func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"size": int64(1), "any": load()}
	}))
}
