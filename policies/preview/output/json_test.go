package output

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/moult-dev/moult/policies/preview"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	g := NewWithT(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	g.Expect(err).NotTo(HaveOccurred())
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	g.Expect(compiler.AddResource("report.schema.json", document)).To(Succeed())
	schema, err := compiler.Compile("report.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	return schema
}

func TestTheSchemaTakesWhatIsAReportAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		valid    bool
	}{
		"a report as it is":                     {valid: true},
		"a field that no report has":            {from: `"kind": "Report"`, to: `"kind": "Report", "colour": "red"`},
		"a field that no finding has":           {from: `"rule": "NoSyncTimeout"`, to: `"rule": "NoSyncTimeout", "colour": "red"`},
		"a verdict that is none":                {from: `"verdict": "blocked"`, to: `"verdict": "maybe"`},
		"a severity that is none":               {from: `"severity": "warning"`, to: `"severity": "fatal"`},
		"a role that is none":                   {from: `"role": "gate"`, to: `"role": "door"`},
		"a report of another version":           {from: `preview.moult.dev/v1alpha1`, to: `preview.moult.dev/v9`},
		"a verdict that is missing":             {from: `"verdict": "blocked",`},
		"a time that is none":                   {from: `2026-11-20T14:05:00Z`, to: `yesterday`},
		"a number of objects that is not whole": {from: `"objects": 48210`, to: `"objects": 48210.5`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			content, err := JSON(blockedInOneOfThree())
			g.Expect(err).NotTo(HaveOccurred())
			if c.from != "" {
				g.Expect(string(content)).To(ContainSubstring(c.from))
				content = []byte(strings.ReplaceAll(string(content), c.from, c.to))
			}
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
			g.Expect(err).NotTo(HaveOccurred())
			err = compiled(t).Validate(instance)
			g.Expect(err == nil).To(Equal(c.valid), "%v", err)
		})
	}
}

// object is what matters of a schema's part.
type object struct {
	Ref                  string            `json:"$ref"`
	Type                 any               `json:"type"`
	Properties           map[string]object `json:"properties"`
	Required             []string          `json:"required"`
	Items                *object           `json:"items"`
	AdditionalProperties *bool             `json:"additionalProperties"`
	Enum                 []string          `json:"enum"`
	Defs                 map[string]object `json:"$defs"`
}

// The types are the contract. If a field is added to them, this test reports that the published schema lacks it. If one
// is taken away, it reports that the schema still promises it.
func TestTheSchemaHasEveryFieldOfAReport(t *testing.T) {
	g := NewWithT(t)
	var schema object
	g.Expect(json.Unmarshal(Schema, &schema)).To(Succeed())
	used := map[string]bool{}
	compare(g, schema.Defs, used, schema.Defs["report"], reflect.TypeFor[preview.Report](), "Report")
	used["report"] = true
	for name := range schema.Defs {
		g.Expect(used[name]).To(BeTrue(), "nothing refers to $defs/%s", name)
	}
}

func compare(g *WithT, defs map[string]object, used map[string]bool, s object, of reflect.Type, path string) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		used[name] = true
		s = defs[name]
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[time.Time](), of.Kind() == reflect.String && s.Enum == nil && closed[of] == nil:
		if s.Type != nil { // a const has none
			g.Expect(s.Type).To(Equal("string"), path)
		}
	case closed[of] != nil:
		g.Expect(s.Enum).To(ConsistOf(closed[of]), path)
	case of.Kind() == reflect.Bool:
		g.Expect(s.Type).To(Equal("boolean"), path)
	case of.Kind() == reflect.Slice:
		g.Expect(s.Items).NotTo(BeNil(), path)
		compare(g, defs, used, *s.Items, of.Elem(), path+"[]")
	case of.Kind() == reflect.Struct:
		fields := map[string]reflect.StructField{}
		var required []string
		jsonFields(of, fields, &required)
		g.Expect(s.AdditionalProperties).To(HaveValue(BeFalse()), "%s allows what it does not list", path)
		g.Expect(s.Required).To(ConsistOf(required), "%s: what is required", path)
		for name, field := range fields {
			g.Expect(s.Properties).To(HaveKey(name), "the schema lacks a field of %s", path)
			compare(g, defs, used, s.Properties[name], field.Type, path+"."+name)
		}
		for name := range s.Properties {
			g.Expect(fields).To(HaveKey(name), "%s has no such field any more", path)
		}
	default:
		g.Expect(s.Type).To(Equal("integer"), path)
	}
}

// jsonFields are those of a struct and of what is embedded in it.
func jsonFields(of reflect.Type, fields map[string]reflect.StructField, required *[]string) {
	for field := range fieldsOf(of) {
		tag := strings.Split(field.Tag.Get("json"), ",")
		switch {
		case tag[0] == "-":
		case field.Anonymous && tag[0] == "":
			jsonFields(field.Type, fields, required)
		default:
			fields[tag[0]] = field
			if !slices.Contains(tag, "omitempty") && !slices.Contains(tag, "omitzero") {
				*required = append(*required, tag[0])
			}
		}
	}
}

func fieldsOf(of reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range of.NumField() {
			if !yield(of.Field(i)) {
				return
			}
		}
	}
}
