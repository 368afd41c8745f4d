package converters_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// Four times what was sent, there and back, is sixteen times what an object had.
func TestARehearsalRefusesAnswersThatItHasNoMemoryFor(t *testing.T) {
	g := NewWithT(t)
	hook, times, texts := webhooks.Converting(t), map[string]int{}, false
	hook.Change(func(o *unstructured.Unstructured, _, to string) {
		spec := o.Object["spec"].(map[string]any)
		if text, is := spec["any"].(string); is {
			spec["any"] = strings.Repeat(text, max(times[to], 1))
			return
		}
		spec["any"] = slices.Repeat(spec["any"].([]any), max(times[to], 1))
	})
	open := `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1").Schema("v1alpha1", open).Schema("v1", open).
		ConversionWebhook(hook.URL(), hook.CABundle()).Build()
	webhook, err := converters.Webhooks{}.For(crd)
	g.Expect(err).NotTo(HaveOccurred())
	engine, err := conversion.New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	faults := func(n int) []string {
		var objects []map[string]any
		for i := range n {
			object := widget(fmt.Sprint("o", i))
			object["spec"] = map[string]any{"any": slices.Repeat([]any{map[string]any{"a": int64(1)}}, 2_000)} // 0.7 MiB
			if texts {
				object["spec"] = map[string]any{"any": strings.Repeat("x", 200_000)}
			}
			objects = append(objects, object)
		}
		return words.Of(engine.With(webhook).Losses(t.Context(), objects, 4<<20), func(o conversion.Outcome) string {
			if len(o.Failed) == 0 {
				return "kept"
			}
			return fmt.Sprint(o.Failed[0].To, " ", o.Failed[0].Fault)
		})
	}
	g.Expect(faults(4)).To(HaveEach("kept"))
	times["v1"] = 3
	g.Expect(faults(1)).To(HaveEach("kept"))
	g.Expect(faults(4)).To(HaveEach("v1 the object would be too large"), "all of them together, which are not asked about one by one")
	hook.RejectObject("o3")
	const large = "v1 the object would be too large"
	g.Expect(faults(4)).To(Equal([]string{"kept", large, large, "v1 cannot be converted"}), "one by one, they are held together")
	g.Expect(hook.Heal()).To(Succeed())
	times["v1alpha1"] = 3
	g.Expect(faults(1)).To(HaveEach("v1alpha1 the object would be too large"))

	texts = true
	g.Expect(faults(1)).To(HaveEach("v1alpha1 the object would be too large"), "a text is held several times until it is decoded")
	times["v1alpha1"] = 1
	g.Expect(faults(1)).To(HaveEach("kept"))
}
