package crdschema_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/unpacking"
)

const (
	bareItems  = `items: {type: array, items: {type: object, properties: {a: {type: string}}}}, old: {type: string}`
	structured = `items: {type: array, items: {type: object, properties: {a: {type: string}, resources: {type: object, default: {cpu: {limit: 100m, request: 50m}, memory: {limit: 64Mi, request: 32Mi}}, x-kubernetes-preserve-unknown-fields: true}}}}`
)

func bare(n int) map[string]any {
	items := make([]any, n)
	for i := range items {
		items[i] = map[string]any{}
	}
	return map[string]any{"spec": map[string]any{"items": items}}
}

// An object of 1.2 MB is filled with half a gigabyte. What it takes is known before.
func TestDefaultsThatMakeAnObjectTooLargeAreNotFilledIn(t *testing.T) {
	g := NewWithT(t)
	of := crd(t, spec(bareItems), spec(structured))
	finder, err := crdschema.Of(of)
	g.Expect(err).NotTo(HaveOccurred())
	object := bare(400_000)
	g.Expect(finder.Add(object)).To(BeNumerically(">", 400<<20))
	g.Expect(allocated(func() { _, err = finder.LostFrom(object, "v1alpha1") })).To(BeNumerically("<", 100<<20), "a copy of the object")
	g.Expect(err).To(BeAssignableToTypeOf(&crdschema.TooLarge{}))
	g.Expect(err).To(MatchError("the defaults of v1 would make the object larger by more than 16 MiB"))

	v, err := crdschema.VersionOf(of, "v1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(allocated(func() { _ = v.IsDefault(object, crdschema.Path{"spec", "items"}) })).To(BeNumerically("<", 40<<20))
	_, err = v.Read(object)
	g.Expect(err).To(HaveOccurred())
	_, err = finder.LostFrom(bare(5_000), "v1alpha1")
	g.Expect(err).NotTo(HaveOccurred())
}

// Lists of 40 items in one another, five times, are a hundred million.
func TestDefaultsThatMultiplyAreCountedAndNotMade(t *testing.T) {
	g := NewWithT(t)
	list := `{type: string}`
	for range 5 {
		list = fmt.Sprintf(`{type: array, default: [%s], items: {type: object, properties: {a: %s}}}`, strings.TrimSuffix(strings.Repeat("{},", 40), ","), list)
	}
	of := crd(t, spec(bareItems), `{type: object, properties: {spec: {type: object, default: {}, properties: {a: `+list+`}}}}`)
	var err error
	g.Expect(allocated(func() { _, err = crdschema.Of(of) })).To(BeNumerically("<", 1<<20))
	g.Expect(err).To(BeAssignableToTypeOf(&crdschema.TooLarge{}))
}

// What is counted is what defaults then add.
func TestWhatDefaultsAddIsKnownBefore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v, object := anyVersion(rt)
		filled := runtime.DeepCopyJSON(object)
		if err := v.Fill(filled); err != nil {
			rt.Fatal(err)
		}
		adds, grown := v.Add(object), unpacking.SizeOf(filled)-unpacking.SizeOf(object)
		if adds < grown || grown == 0 && adds > 64 || adds > 2*grown+2000 {
			rt.Fatalf("%d bytes are counted, and %d added to %v: %v", adds, grown, object, filled)
		}
		if again := v.Add(filled); again != 0 {
			rt.Fatalf("%d bytes are counted where %v has all defaults", again, filled)
		}
	})
}
