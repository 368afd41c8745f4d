package crdschema_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crdschema"
)

func TestTaken(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		taken         []string
	}{
		"nothing":                   {`{spec: {a: 1, b: [x]}}`, `{spec: {a: 1, b: [x]}}`, nil},
		"a field":                   {`{spec: {a: 1, b: {c: 2}}}`, `{spec: {b: {}}}`, []string{"spec.a", "spec.b.c"}},
		"all of it":                 {`{spec: {a: 1}, data: {k: v}}`, `{spec: {a: 1}}`, []string{"data"}},
		"a value":                   {`{spec: {a: 1, b: secret}}`, `{spec: {a: 2, b: null}}`, []string{"spec.a", "spec.b"}},
		"a value of another type":   {`{spec: {a: {b: 1}}}`, `{spec: {a: []}}`, []string{"spec.a"}},
		"items":                     {`{spec: {l: [{a: 1, b: 2}, {a: 3}, {a: 4}]}}`, `{spec: {l: [{a: 1}, {a: 3}]}}`, []string{"spec.l[*]", "spec.l[*].b"}},
		"what is added":             {`{spec: {a: 1}}`, `{spec: {a: 1, b: 2}, status: {c: 3}}`, nil},
		"a number spelt otherwise":  {`{spec: {a: 1}}`, `{spec: {a: 1.0}}`, nil},
		"metadata that change":      {`{metadata: {resourceVersion: "1", generation: 1, annotations: {stamp: "1"}}}`, `{metadata: {resourceVersion: "1", generation: 2, annotations: {stamp: "2", more: "3"}}}`, nil},
		"metadata that are removed": {`{metadata: {annotations: {a: "1"}, labels: {b: "2"}, finalizers: [x, y], ownerReferences: [{uid: u}]}}`, `{metadata: {annotations: {}, finalizers: [x]}}`, []string{"metadata.annotations.a", "metadata.finalizers[*]", "metadata.labels.b", "metadata.ownerReferences[*]"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := map[string]any{}, map[string]any{}
			g.Expect(yaml.Unmarshal([]byte(c.before), &before)).To(Succeed())
			g.Expect(yaml.Unmarshal([]byte(c.after), &after)).To(Succeed())
			g.Expect(crdschema.Taken(before, after)).To(Equal(c.taken))
		})
	}
}

func TestOfVeryMuchThatIsTakenNotAllIsNamed(t *testing.T) {
	g := NewWithT(t)
	values := map[string]any{}
	for i := range 30_000 {
		values[strings.Repeat("k", 200)+string(rune('a'+i%26))+strings.Repeat("x", i/26%40)+strings.Repeat("y", i/1040)] = "v"
	}
	taken := crdschema.Taken(map[string]any{"spec": values}, map[string]any{"spec": map[string]any{}})
	g.Expect(taken).To(ContainElement(crdschema.More))
	g.Expect(len(taken)).To(BeNumerically("<", len(values)))
}
