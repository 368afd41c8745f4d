package conversion

import (
	"context"
	"maps"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/crdschema"
)

// counts is a webhook that writes other numbers.
type counts struct {
	of func(version string) map[string]any
}

func (c counts) Convert(_ context.Context, objects []map[string]any, apiVersion string) ([]map[string]any, error) {
	object := maps.Clone(objects[0])
	object["apiVersion"], object["spec"] = apiVersion, c.of(apiVersion)
	return []map[string]any{object}, nil
}

// Each path of a deep object is as long as the object is deep: together they take a hundred times as much.
func TestADeepObjectIsComparedInTheMemoryThatItTakes(t *testing.T) {
	g := NewWithT(t)
	spec := func(version string) map[string]any {
		numbers := make([]any, 100_000)
		for i := range numbers {
			numbers[i] = float64(len(version))
		}
		var value any = numbers
		for range 300 {
			value = []any{value}
		}
		return map[string]any{"any": value}
	}
	crd := crdOf(g, strings.ReplaceAll(bridges, "spec: {type: object, ", "spec: {type: object, x-kubernetes-preserve-unknown-fields: true, "))
	engine, err := New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	object := objectOf(g, `{apiVersion: example.com/v1beta2, kind: Bridge, metadata: {name: a}}`)
	object["spec"] = spec("")
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.ReadMemStats(&before)
	outcome := engine.With(counts{spec}).Losses(t.Context(), []map[string]any{object}, 1<<30)[0]
	runtime.ReadMemStats(&after)
	g.Expect(outcome.Failed).To(BeEmpty())
	g.Expect(outcome.Changed).To(ContainElement(crdschema.More))
	g.Expect(after.TotalAlloc - before.TotalAlloc).To(BeNumerically("<", 100<<20))
}
