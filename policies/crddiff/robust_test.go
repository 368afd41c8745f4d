package crddiff

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
)

// hold checks what holds for any two CRDs, broken ones too.
func hold(g Gomega, base, head *definition) {
	there := Compare(base, head, v1alpha1.MigrateLabel)
	back := Compare(head, base, v1alpha1.MigrateLabel)
	g.Expect(Compare(base, base, v1alpha1.MigrateLabel).Changes).To(BeEmpty(), "nothing differs from itself")
	g.Expect(Compare(base, head, v1alpha1.MigrateLabel)).To(Equal(there), "twice the same")
	g.Expect(back.Changes == nil).To(Equal(there.Changes == nil), "what differs one way differs the other way\nthere: %v\nback: %v", there.Changes, back.Changes)
	for i, c := range there.Changes {
		g.Expect([]finding.Severity{finding.Error, finding.Warning, finding.Info}).To(ContainElement(c.Severity))
		g.Expect(c.Rule).NotTo(BeEmpty())
		g.Expect(c.Why).NotTo(BeEmpty())
		if i > 0 {
			g.Expect(c.Severity.Weight()).To(BeNumerically("<=", there.Changes[i-1].Severity.Weight()), "the gravest first")
		}
	}
	for _, version := range there.Removed {
		g.Expect(slices.ContainsFunc(there.Changes, func(c Change) bool {
			return c.Version == version && c.Rule == VersionRemoved && c.Severity != finding.Info
		})).To(BeTrue(), "no removal goes unnoticed")
	}
}

func FuzzCompare(f *testing.F) {
	cases, err := filepath.Glob("testdata/*/base.yaml")
	if err != nil || len(cases) == 0 {
		f.Fatal("there are no cases to start from")
	}
	for _, base := range cases {
		a, errA := os.ReadFile(base)
		b, errB := os.ReadFile(filepath.Join(filepath.Dir(base), "head.yaml"))
		if errA != nil || errB != nil {
			f.Fatal(errA, errB)
		}
		if len(a)+len(b) < 8<<10 {
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		g := NewWithT(t)
		base, head := anyCRD(a), anyCRD(b)
		hold(g, base, head)
		_ = Sets([]*definition{base, head, nil}, []*definition{head, base}, "")
	})
}

// anyCRD reads whatever can be read, through the decoder if it lets it pass and around it if not.
func anyCRD(content []byte) *definition {
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		return nil
	}
	decoded, err := Decode(&unstructured.Unstructured{Object: object})
	if err == nil {
		return decoded
	}
	crd := &definition{}
	raw, err := json.Marshal(object)
	if err != nil || json.Unmarshal(raw, crd) != nil {
		return nil
	}
	return crd
}

// Schemas that somebody might write, and a change or two.
func TestAnyTwoSchemas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := NewWithT(&quiet{r})
		base, head := plainCRD(), plainCRD()
		base.Spec.Versions = drawVersions(r, "base")
		head.Spec.Versions = base.Spec.Versions
		if rapid.IntRange(0, 3).Draw(r, "same versions") == 0 {
			head.Spec.Versions = drawVersions(r, "head")
		}
		if rapid.Bool().Draw(r, "webhook") {
			head.Spec.Conversion = webhookNamed("a")
		}
		hold(g, base, head)
		agree(g, base, head)
	})
}

// quiet is a rapid.T as gomega takes it.
type quiet struct{ *rapid.T }

func (q *quiet) Helper() {}

func drawVersions(r *rapid.T, label string) []versionOf {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"v1alpha1", "v1beta1", "v1", "v2", "odd"}), 1, 3, rapid.ID[string]).Draw(r, label+" versions")
	stored := rapid.IntRange(0, len(names)-1).Draw(r, label+" stored")
	var versions []versionOf
	for i, name := range names {
		s := drawSchema(r, fmt.Sprintf("%s %s", label, name), 3)
		s.Type, s.XIntOrString = "object", false
		versions = append(versions, versionOf{
			Name: name, Storage: i == stored, Served: rapid.Bool().Draw(r, name+" served"),
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &s},
		})
	}
	return versions
}

func drawSchema(r *rapid.T, label string, levels int) schema {
	type word = func(*schema)
	json := func(text string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: []byte(text)} }
	words := []word{
		func(s *schema) { s.Type = "string" },
		func(s *schema) { s.Type = "integer" },
		func(s *schema) { s.XIntOrString = true },
		func(s *schema) { v := json(`"a"`); s.Default = &v },
		func(s *schema) { v := json(` "b" `); s.Default = &v },
		func(s *schema) { s.Enum = []apiextensionsv1.JSON{json(`"a"`), json(`"b"`)} },
		func(s *schema) { s.Enum = []apiextensionsv1.JSON{json(`"b"`)} },
		func(s *schema) { n := int64(0); s.MinLength = &n },
		func(s *schema) { n := int64(9); s.MinLength, s.MaxLength = &n, &n },
		func(s *schema) { n := int64(3); s.MaxItems, s.MaxProperties = &n, &n },
		func(s *schema) { n := 2.5; s.Minimum, s.ExclusiveMinimum = &n, true },
		func(s *schema) { s.Required = []string{"a", "c"} },
		func(s *schema) { s.Required = []string{"b"} },
		func(s *schema) { s.Nullable = true },
		func(s *schema) { s.Description = "Deprecated: do not." },
		func(s *schema) { s.XPreserveUnknownFields = new(true) },
		func(s *schema) { s.AnyOf = []schema{{Required: []string{"a"}}, {MaxLength: new(int64(2))}} },
		func(s *schema) { s.XValidations = apiextensionsv1.ValidationRules{{Rule: "self > 1"}} },
		func(s *schema) { s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true} },
	}
	var s schema
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(words)-1), 0, 4, rapid.ID[int]).Draw(r, label) {
		words[i](&s)
	}
	if s.XIntOrString {
		s.Type = "" // no API server takes both, and crdify then sees a change of type where there is none
	}
	if levels == 0 {
		return s
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "x.y"}), 0, 2, rapid.ID[string]).Draw(r, label+" properties") {
		if s.Properties == nil {
			s.Properties = map[string]schema{}
		}
		s.Properties[name] = drawSchema(r, label+"."+name, levels-1)
	}
	switch rapid.IntRange(0, 4).Draw(r, label+" holds") {
	case 0:
		items := drawSchema(r, label+"[]", levels-1)
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}
	case 1:
		values := drawSchema(r, label+"{}", levels-1)
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &values}
	}
	return s
}

// No manifest decodes to a schema that holds itself, but a program may build one.
func TestASchemaThatHoldsItself(t *testing.T) {
	g := NewWithT(t)
	endless := func(kind string) *definition {
		crd := plainCRD()
		s := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		s.Type, s.Not = kind, s
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: s}
		s.AllOf = []schema{{Not: s}}
		return crd
	}
	hold(g, endless("object"), endless("object"))
	g.Expect(Compare(endless("object"), endless("array"), "").Changes).To(ConsistOf(HaveField("Rule", SchemaTooLarge)))
}

func TestVersionsWithoutAnything(t *testing.T) {
	empty := func(versions ...versionOf) *definition {
		return &definition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: versions}}
	}
	all := []*definition{
		nil, {}, empty(), empty(versionOf{}), empty(versionOf{Name: "v1", Storage: true}, versionOf{Name: "v1", Served: true}),
		empty(versionOf{Name: "v1", Storage: true}, versionOf{Name: "v2", Storage: true}), plainCRD(),
		empty(versionOf{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{}}),
		{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: "Webhook"}}},
		{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: "Magic"}}},
	}
	for _, base := range all {
		for _, head := range all {
			hold(NewWithT(t), base, head)
		}
	}
}
