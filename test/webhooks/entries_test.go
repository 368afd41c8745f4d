package webhooks_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// asked is how often the webhook is asked for an object when it is rewritten, and when it is checked.
type asked struct{ rewrite, check float64 }

// docs/guides/sizing.md has these counts. The rewrite's are higher where watches convert what was rewritten.
func TestEachEntryOfManagedFieldsAtAnOldVersionIsConvertedAtEveryWrite(t *testing.T) {
	g := NewWithT(t)
	conversion, err := webhooks.NewConversion()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conversion.Close() })
	with := map[int]asked{}
	for _, entries := range []int{0, 1, 2} {
		with[entries] = ask(t, conversion, entries)
		t.Logf("%d entries at the old version: %+v", entries, with[entries])
	}
	g.Expect(with[0].rewrite).To(BeNumerically(">=", 1))
	g.Expect(with[0].check).To(BeNumerically("<", 1))
	for entries := range 2 {
		g.Expect(with[entries+1].rewrite).To(BeNumerically(">=", with[entries].rewrite+1))
		g.Expect(with[entries+1].check).To(BeNumerically(">=", with[entries].check+0.5))
	}
}

// ask migrates objects with that many entries at v1alpha1, by empty patches as Moult sends them.
func ask(t *testing.T, conversion *webhooks.Conversion, entries int) asked {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		ConversionWebhook(conversion.URL(), conversion.CABundle()).Build()
	running.Install(t, cp, crd)
	old, current := builders.Resource(crd, "v1alpha1"), builders.Resource(crd, "v1")
	if entries == 0 {
		old = current
	}
	g.Expect(builders.CreateObjects(ctx, cp.Config, old, "default", 20)).To(Succeed())
	list, err := resource(g, old).List(ctx, metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	patch := func(at schema.GroupVersionResource, o unstructured.Unstructured, manager, body string) string {
		patched, err := resource(g, at).Patch(ctx, o.GetName(), types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
		g.Expect(err).NotTo(HaveOccurred())
		return patched.GetResourceVersion()
	}
	for i := 1; i < entries; i++ {
		for _, o := range list.Items {
			patch(old, o, strconv.Itoa(i), fmt.Sprintf(`{"metadata":{"labels":{"l%d":""}}}`, i))
		}
	}
	touch := func(o unstructured.Unstructured) string { return patch(current, o, "moult", "{}") }
	quiet := func() int { // what watches convert is over
		calls := -1
		g.Eventually(func() bool {
			before := calls
			calls = conversion.Calls()
			return calls == before
		}, running.Soon, time.Second).Should(BeTrue())
		return calls
	}
	probe, others := list.Items[0], list.Items[1:]
	was := touch(probe)
	g.Expect(builders.FlipStorage(ctx, cp.Config, crd.Name, "v1")).To(Succeed())
	g.Eventually(func() string { return touch(probe) }, running.Soon).ShouldNot(Equal(was), "the API server goes by the flip")
	walk := func() float64 {
		before := quiet()
		for _, o := range others {
			touch(o)
		}
		return float64(quiet()-before) / float64(len(others))
	}
	return asked{rewrite: walk(), check: walk()}
}
