package crddiff

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const sane = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              tags: {type: array, items: {type: string}}
              labels: {type: object, additionalProperties: {type: string}}
`

func decode(t *testing.T, manifest string) (*definition, error) {
	t.Helper()
	return Decode(objects(t, []byte(manifest))[0])
}

// from is the rest of the manifest.
func from(word string) string {
	_, after, _ := strings.Cut(sane, word)
	return word + after
}

func TestWhatIsBrokenIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ old, broken, says string }{
		"an older API":               {"k8s.io/v1", "k8s.io/v1beta1", "is written as apiextensions.k8s.io/v1beta1, which no API server since Kubernetes 1.22 reads"},
		"an API of the future":       {"k8s.io/v1", "k8s.io/v2", "is written as apiextensions.k8s.io/v2"},
		"no name":                    {"{name: widgets.example.com}", "{}", "CustomResourceDefinition without a name: metadata.name is missing"},
		"no group":                   {"  group: example.com\n", "", "spec.group is missing"},
		"no kind":                    {", kind: Widget", "", "spec.names.kind is missing"},
		"no spec":                    {"spec:", "specification:", "spec"},
		"a spec that is a text":      {from("spec:"), "spec: none\n", "spec is a string and has to be an object"},
		"names that are a list":      {"{plural: widgets, kind: Widget}", "[widgets]", "spec.names is a list and has to be an object"},
		"short names that are text":  {"kind: Widget}", "kind: Widget, shortNames: wd}", "spec.names.shortNames is a string and has to be a list"},
		"versions that are no list":  {from("  versions:"), "  versions: {v1: {}}\n", "spec.versions is not a list"},
		"no versions":                {from("  versions:"), "  versions: []\n", "spec.versions is empty"},
		"a version that is a text":   {"{name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}", "v1alpha1", "spec.versions[0] is not an object"},
		"a version without a name":   {"name: v1alpha1, ", "", "spec.versions[0].name is missing"},
		"a version twice":            {"v1alpha1", "v1", "spec.versions[1].name: v1 is there twice"},
		"a version without a schema": {", schema: {openAPIV3Schema: {type: object}}", "", "spec.versions[0].schema.openAPIV3Schema is missing (v1alpha1)"},
		"no storage version":         {"storage: true", "storage: false", "none of v1alpha1, v1 has storage: true"},
		"two storage versions":       {"storage: false", "storage: true", "v1alpha1, v1 have storage: true, and only one may"},
		"served in words":            {"served: true, storage", `served: "yes", storage`, "spec.versions[0] (v1alpha1).served is a string and has to be true or false"},
		"a type that is a number":    {"size: {type: integer}", "size: {type: 7}", "spec.versions[1] (v1): schema.openAPIV3Schema.properties.spec.properties.size.type is a number and has to be a string"},
		"a property that is a text":  {"size: {type: integer}", "size: integer", "schema.openAPIV3Schema.properties.spec.properties.size is not an object"},
		"items that are wrong":       {"items: {type: string}", "items: {type: []}", "properties.tags.items.type is a list and has to be a string"},
		"a type beside good items":   {"tags: {type: array,", "tags: {type: 7,", "properties.tags.type is a number and has to be a string"},
		"a type beside a default":    {"size: {type: integer}", "size: {type: 7, default: {a: 7}}", "properties.size.type is a number and has to be a string"},
		"a definition that is wrong": {"size: {type: integer}", "size: {definitions: {a: {type: string}, b: {type: 7}}}", "properties.size.definitions.b.type is a number and has to be a string"},
		"a pattern that is wrong":    {"size: {type: integer}", "size: {patternProperties: {a: {type: 7}}}", "properties.size.patternProperties.a.type is a number and has to be a string"},
		"one of all is wrong":        {"size: {type: integer}", "size: {allOf: [{type: true}]}", "properties.size.allOf[0].type is true or false and has to be a string"},
		"the one of one is wrong":    {"size: {type: integer}", "size: {oneOf: [{type: true}]}", "properties.size.oneOf[0].type is true or false and has to be a string"},
		"what is required is wrong":  {"size: {type: integer}", "size: {required: [7]}", "properties.size.required is a number and has to be a string"},
		"values that are wrong":      {"additionalProperties: {type: string}", "additionalProperties: {minLength: one}", "properties.labels.additionalProperties.minLength is a string and has to be a number"},
		"neither schema nor boolean": {"additionalProperties: {type: string}", "additionalProperties: maybe", "properties.labels: boolean or JSON schema expected"},
		"one of several is wrong":    {"size: {type: integer}", "size: {anyOf: [{type: integer}, {type: true}]}", "properties.size.anyOf[1].type is true or false and has to be a string"},
		"enum that is no list":       {"size: {type: integer}", "size: {enum: 7}", "properties.size.enum is a number and has to be a list"},
		"a pattern of properties":    {"size: {type: integer}", "size: {patternProperties: {x: {type: 1}}}", "properties.size.patternProperties.x.type is a number"},
		"nested without end":         {"size: {type: integer}", "size: " + strings.Repeat("{not: ", 300) + "{}" + strings.Repeat("}", 300), "is nested more than 250 levels deep"},
		"a list nested without end":  {"size: {type: integer}", "size: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "is nested more than 250 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(sane).To(ContainSubstring(c.old))
			_, err := decode(t, strings.Replace(sane, c.old, c.broken, 1))
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			g.Expect(err.Error()).To(HavePrefix("CustomResourceDefinition "))
			if name != "no name" {
				g.Expect(err.Error()).To(ContainSubstring("widgets.example.com"))
			}
		})
	}
}

func TestWhatIsUnknownIsLeftOut(t *testing.T) {
	g := NewWithT(t)
	crd, err := decode(t, strings.Replace(sane, "size: {type: integer}", "size: {type: integer, x-kubernetes-tomorrow: [1]}", 1)+"    tomorrow: {a: b}\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(crd.Spec.Versions).To(HaveLen(2))
}

func TestWhatIsLeftOutIsNamed(t *testing.T) {
	g := NewWithT(t)
	text := strings.NewReplacer("size: {type: integer}", "size: {type: integer, nullabel: true, default: {a: b}}", "storage: false", "storage: false, storag: true",
		"additionalProperties: {type: string}", "additionalProperties: {tipe: string}").Replace(sane) + "  tomorrow: {a: b}\ntoday: 1\n"
	_, undeclared, err := DecodeStrictly(objects(t, []byte(text))[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(undeclared).To(ConsistOf("today", "spec.tomorrow", "spec.versions[0].storag", "spec.versions[1].schema.openAPIV3Schema.properties.spec.properties.size.nullabel"))
	_, undeclared, err = DecodeStrictly(objects(t, []byte(sane))[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(undeclared).To(BeEmpty())
}
