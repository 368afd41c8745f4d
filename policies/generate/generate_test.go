package generate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/generate"
	"github.com/moult-dev/moult/test/builders"
)

// all is a schema that has one of everything that a schema can say; test/conformance makes objects of it, too.
func all(g *WithT) string {
	schema, err := os.ReadFile("testdata/all.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	return string(schema)
}

func crdOf(schema string) *apiextensionsv1.CustomResourceDefinition {
	return builders.CRD("example.com", "widgets").Versions("v1").Schema("v1", schema).Build()
}

func generator(g *WithT, crd *apiextensionsv1.CustomResourceDefinition, seed uint64, values map[string][]any) (*generate.Generator, *conversion.Engine) {
	e, err := conversion.New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	return generate.New(e, generate.Options{Version: "v1", APIVersion: crd.Spec.Group + "/v1", Kind: "Widget", Namespaced: true, Values: values}, rand.New(rand.NewPCG(seed, 1))), e
}

func TestTheSameSeedMakesTheSameObjectsAndEachFieldIsMade(t *testing.T) {
	g := NewWithT(t)
	crd := crdOf(all(g))
	one, e := generator(g, crd, 7, nil)
	two, _ := generator(g, crd, 7, nil)
	other, _ := generator(g, crd, 8, nil)
	made := one.Make(t.Context(), 300)
	g.Expect(made.Objects).To(HaveLen(300))
	g.Expect(two.Make(t.Context(), 300)).To(Equal(made))
	g.Expect(other.Make(t.Context(), 300)).NotTo(Equal(made))
	g.Expect(one.Missed()).To(ConsistOf("spec.never"))
	for _, object := range made.Objects {
		read, err := e.Version("v1").Read(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(e.Problems(t.Context(), "v1", read)).To(BeEmpty())
	}
}

// Whatever a schema is, making objects of it ends, and says why there are none.
func TestSchemasThatAreHardOrImpossible(t *testing.T) {
	spec := func(inner string) string {
		return "{type: object, required: [spec], properties: {spec: " + inner + "}}"
	}
	deep := "{type: string}"
	for range 60 {
		deep = "{type: object, required: [a], properties: {a: " + deep + ", b: {type: string}}}"
	}
	wide := "{type: object, properties: {"
	for i := range 3000 {
		wide += fmt.Sprintf("f%d: {type: object, properties: {a: {type: string}, b: {type: integer}}}, ", i)
	}
	for name, c := range map[string]struct {
		schema string
		none   bool
		why    string
	}{
		"it is very deep":                       {schema: spec(deep)},
		"it is very wide":                       {schema: spec(wide + "}}")},
		"a rule is never true":                  {schema: spec(`{type: object, x-kubernetes-validations: [{rule: "false", message: never}]}`), none: true, why: "never"},
		"a rule is seldom true":                 {schema: spec(`{type: object, required: [a], x-kubernetes-validations: [{rule: "self.a == 'xyzzy'"}], properties: {a: {type: string}}}`), none: true, why: "failed rule"},
		"a pattern is anchored twice":           {schema: spec(`{type: string, pattern: '^a$b'}`), none: true, why: "cannot be made"},
		"a pattern repeats repetitions":         {schema: spec(`{type: string, pattern: '^(([a-z]{100,200}){1,5}){1}$', maxLength: 300}`)},
		"a pattern has other alphabets":         {schema: spec(`{type: string, pattern: '^\p{Greek}{3}[^a-z]?$'}`)},
		"a pattern ends anywhere":               {schema: spec(`{type: string, pattern: 'ab+c', minLength: 10}`)},
		"a list is to be longer than its items": {schema: spec(`{type: array, minItems: 4, x-kubernetes-list-type: set, items: {type: string, enum: [a, b]}}`), none: true, why: "cannot be made"},
		"limits leave nothing":                  {schema: spec(`{type: integer, minimum: 5, maximum: 4}`), none: true},
		"limits leave one":                      {schema: spec(`{type: string, minLength: 5000, maxLength: 5000}`)},
		"numbers are huge":                      {schema: spec(`{type: object, required: [a, b], properties: {a: {type: number, minimum: 1.0e+300}, b: {type: integer, minimum: -9.0e+18, maximum: 9.0e+18}}}`)},
		"there is nothing in it":                {schema: "{type: object}"},
		"there is anything in it":               {schema: "{type: object, x-kubernetes-preserve-unknown-fields: true}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			made, _ := generator(g, crdOf(c.schema), 1, nil)
			got := made.Make(t.Context(), 20)
			if c.none {
				g.Expect(got.Objects).To(BeEmpty())
				g.Expect(got.ThrownAway).To(BeNumerically(">", 0))
				g.Expect(got.Why).To(ContainSubstring(c.why))
			} else {
				g.Expect(got.Objects).To(HaveLen(20), got.Why)
			}
			g.Expect(made.Make(t.Context(), 0).Objects).To(BeEmpty())
		})
	}
}

func TestNothingIsMadeAfterTheEnd(t *testing.T) {
	g := NewWithT(t)
	made, _ := generator(g, crdOf(all(g)), 1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(made.Make(ctx, 10).Objects).To(BeEmpty())
}

func TestValuesThatAreGivenAreTaken(t *testing.T) {
	g := NewWithT(t)
	made, _ := generator(g, crdOf(all(g)), 1, map[string][]any{"spec.list[*].value": {"10"}, "spec.map.*.a": {"in a map"}, "spec.left": {"given"}})
	text := fmt.Sprint(made.Make(t.Context(), 200).Objects)
	g.Expect(text).To(And(ContainSubstring("value:10]"), ContainSubstring("a:in a map"), ContainSubstring("left:given")))
	g.Expect(strings.Count(text, "left:")).To(Equal(strings.Count(text, "left:given")))
}

// Taking the first smaller object that shows something, again and again, ends with nothing but that.
func TestSmallerObjectsEndWithWhatMatters(t *testing.T) {
	g := NewWithT(t)
	made, e := generator(g, crdOf(all(g)), 3, nil)
	shows := func(object map[string]any) bool {
		list, _, _ := unstructured.NestedSlice(object, "spec", "list")
		return slices.ContainsFunc(list, func(item any) bool {
			fields, ok := item.(map[string]any)
			return ok && fields["value"] != nil && fields["value"] != ""
		})
	}
	objects := made.Make(t.Context(), 200).Objects
	object := objects[slices.IndexFunc(objects, shows)]
	before := fmt.Sprint(object)
	for smaller := object; smaller != nil; {
		object, smaller = smaller, nil
		for candidate := range made.Smaller(t.Context(), object, "spec.list[1].value") {
			read, err := e.Version("v1").Read(candidate)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(e.Problems(t.Context(), "v1", read)).To(BeEmpty())
			if shows(candidate) && !reflect.DeepEqual(candidate, object) {
				smaller = candidate
				break
			}
		}
	}
	g.Expect(before).NotTo(Equal(fmt.Sprint(object)))
	spec, _ := object["spec"].(map[string]any)
	g.Expect(spec["list"]).To(HaveLen(2), "there have to be two")
	g.Expect(len(spec)).To(Equal(3), "name, list, and left or right: %v", spec)
}
