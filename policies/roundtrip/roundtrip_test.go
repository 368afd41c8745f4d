package roundtrip

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/test/builders"
)

// old and new are what the versions know, the same but for a default, a rule and a field.
const (
	old = `{type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}, spec: {type: object, properties: {
		name: {type: string}, size: {type: integer}, mode: {type: string, default: slow}, gone: {type: string, default: d}, confirm: {type: string},
		cpu: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'}, at: {type: string, format: date-time},
		tree: {type: object, x-kubernetes-preserve-unknown-fields: true},
		list: {type: array, items: {type: string}}, shared: {type: string}}}}}`
	new1 = `{type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}, spec: {type: object, properties: {
		name: {type: string, maxLength: 5}, size: {type: integer, default: 7}, mode: {type: string, default: slow}, confirm: {type: string},
		cpu: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'}, at: {type: string, format: date-time},
		tree: {type: object, x-kubernetes-preserve-unknown-fields: true},
		list: {type: array, items: {type: string}}, shared: {type: string}},
		x-kubernetes-validations: [{rule: "!has(oldSelf.name) || oldSelf.name != 'bad'", message: "no"}]}}}`
)

// does is a conversion that changes what is converted to v1, or back.
type does func(spec map[string]any, to string) error

func (d does) Convert(_ context.Context, objects []map[string]any, apiVersion string) (all []map[string]any, err error) {
	for _, o := range objects {
		o = runtime.DeepCopyJSON(o)
		o["apiVersion"] = apiVersion
		spec, _ := o["spec"].(map[string]any)
		status, _ := o["status"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}
		if status != nil {
			spec["status"] = status
		}
		err = d(spec, apiVersion[len("example.com/"):])
		delete(spec, "status")
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func engine(g *WithT, converter conversion.Converter, versions ...string) *conversion.Engine {
	if len(versions) == 0 {
		versions = []string{"v1beta1", "v1"}
	}
	builder := builders.CRD("example.com", "widgets").Versions(versions...).ConversionWebhook("https://127.0.0.1:1/", nil)
	crd := builder.Build()
	for i := range crd.Spec.Versions {
		text := old
		if crd.Spec.Versions[i].Name == "v1" {
			text = new1
		}
		props := &apiextensionsv1.JSONSchemaProps{}
		g.Expect(yaml.Unmarshal([]byte(text), props)).To(Succeed())
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = props
	}
	e, err := conversion.New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	return e.With(converter)
}

func object(g *WithT, name, text string) Object {
	raw, err := yaml.YAMLToJSON([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	content := map[string]any{}
	g.Expect(json.Unmarshal(raw, &content)).To(Succeed())
	content["kind"], content["metadata"] = "Widget", map[string]any{"name": name}
	if content["apiVersion"] == nil {
		content["apiVersion"] = "example.com/v1beta1"
	}
	return Object{Name: name, Content: content}
}

func same(map[string]any, string) error { return nil }

// on does something at one of the versions only.
func on(version string, do func(spec map[string]any)) does {
	return func(spec map[string]any, to string) error {
		if to == version {
			do(spec)
		}
		return nil
	}
}

func TestEachKindOfProblemIsListedApart(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		after  string
		does   does
		want   map[string]Kind
	}{
		"nothing is lost":            {object: "spec: {name: a, size: 1, list: [a, b]}\nstatus: {ready: 1}", does: same, want: map[string]Kind{"spec.gone": Undefaulted}},
		"a field is dropped":         {object: "spec: {shared: a, size: 1}", does: on("v1", func(s map[string]any) { delete(s, "shared") }), want: map[string]Kind{"spec.shared": Lost, "spec.gone": Undefaulted}},
		"an empty one is":            {object: "spec: {shared: '', size: 1}", does: on("v1", func(s map[string]any) { delete(s, "shared") }), want: map[string]Kind{"spec.shared": Empty, "spec.gone": Undefaulted}},
		"an object of empty ones is": {object: "spec: {tree: {a: '', b: {}}, size: 1}", does: on("v1", func(s map[string]any) { delete(s, "tree") }), want: map[string]Kind{"spec.tree": Empty, "spec.gone": Undefaulted}},
		"an item is dropped":         {object: "spec: {list: [a, b], size: 1}", does: on("v1", func(s map[string]any) { s["list"] = []any{"a"} }), want: map[string]Kind{"spec.list[1]": Lost, "spec.gone": Undefaulted}},
		"a value is changed":         {object: "spec: {shared: a, size: 1}", does: on("v1", func(s map[string]any) { s["shared"] = "b" }), want: map[string]Kind{"spec.shared": Changed, "spec.gone": Undefaulted}},
		"a quantity is written otherwise": {object: "spec: {cpu: 1000m, size: 1}", does: on("v1", func(s map[string]any) { s["cpu"] = "1" }),
			want: map[string]Kind{"spec.cpu": Respelled, "spec.gone": Undefaulted}},
		"a quantity is another one": {object: "spec: {cpu: 1000m, size: 1}", does: on("v1", func(s map[string]any) { s["cpu"] = "1k" }),
			want: map[string]Kind{"spec.cpu": Changed, "spec.gone": Undefaulted}},
		"a moment is written otherwise": {object: "spec: {at: '2026-01-01T10:00:00+01:00', size: 1}", does: on("v1", func(s map[string]any) { s["at"] = "2026-01-01T09:00:00Z" }),
			want: map[string]Kind{"spec.at": Respelled, "spec.gone": Undefaulted}},
		"a text that looks like a quantity is changed": {object: "spec: {shared: 1000m, size: 1}", does: on("v1", func(s map[string]any) { s["shared"] = "1" }),
			want: map[string]Kind{"spec.shared": Changed, "spec.gone": Undefaulted}},
		"a confirmation is": {object: "spec: {confirm: a, size: 1}", does: on("v1beta1", func(s map[string]any) { delete(s, "confirm") }), want: map[string]Kind{"spec.confirm": Confirmation, "spec.gone": Undefaulted}},
		"a default takes a value's place": {object: "spec: {mode: fast, size: 1}", does: on("v1", func(s map[string]any) { delete(s, "mode") }),
			want: map[string]Kind{"spec.mode": Overwritten, "spec.gone": Undefaulted}},
		"the other default does, of an empty one": {object: "spec: {size: 0}", does: on("v1", func(s map[string]any) { delete(s, "size") }),
			want: map[string]Kind{"spec.size": Overwritten, "spec.gone": Undefaulted}},
		"the other version's default appears": {object: "spec: {name: a}", does: same, want: map[string]Kind{"spec.size": Defaulted, "spec.gone": Undefaulted}},
		"a field without the other version":   {object: "spec: {gone: a, size: 1}", does: same, want: map[string]Kind{"spec.gone": Lost}},
		"and that is meant":                   {object: "spec: {gone: a, size: 1}", after: "spec: {size: 1}", does: same, want: nil},
		"but not that more is": {object: "spec: {gone: a, size: 1, shared: b}", after: "spec: {size: 1, shared: b}",
			does: on("v1", func(s map[string]any) { delete(s, "shared") }), want: map[string]Kind{"spec.shared": Lost}},
		"something is added each time": {object: "spec: {size: 1}", does: on("v1", func(s map[string]any) {
			list, _ := s["list"].([]any)
			s["list"] = append(list, "x")
		}), want: map[string]Kind{"spec.list": Added, "spec.list[1]": Unstable, "spec.gone": Undefaulted}},
		"a rule is broken": {object: "spec: {name: bad, size: 1}", does: same, want: map[string]Kind{"spec: Invalid value: no": Refused, "spec.gone": Undefaulted}},
		"the schema is":    {object: "spec: {name: too long, size: 1}", does: same, want: map[string]Kind{"spec.name: Too long: may not be more than 5 bytes": Ratcheted, "spec.gone": Undefaulted}},
		"it fails": {object: "spec: {}", does: func(map[string]any, string) error {
			return conversion.Failure{Fault: conversion.FaultFailed, Says: "no"}
		}, want: map[string]Kind{"to v1: cannot be converted": NotConverted}},
		"a status is dropped": {object: "spec: {size: 1}\nstatus: {ready: 1}", does: on("v1", func(s map[string]any) {
			if status, ok := s["status"].(map[string]any); ok {
				delete(status, "ready")
			}
		}), want: map[string]Kind{"status.ready": Status, "spec.gone": Undefaulted}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := object(g, "o", c.object)
			if c.after != "" {
				o.After = object(g, "o", c.after).Content
			}
			checker := NewChecker(engine(g, c.does), []string{"spec.confirm"})
			got := map[string]Kind{}
			for _, p := range checker.Through(t.Context(), []Object{o}, "v1", nil)[0] {
				got[p.What] = p.Kind
			}
			if c.want == nil {
				c.want = map[string]Kind{}
			}
			g.Expect(got).To(Equal(c.want))
		})
	}
}

// A webhook that keeps the size in a field of status that clients of v1 do not know loses it with their first write of
// a status. One that converts no status at v1 beside a name loses what they write.
func TestAWriteOfStatusAtAnotherVersionIsLookedAt(t *testing.T) {
	g := NewWithT(t)
	stash := does(func(s map[string]any, to string) error {
		status, _ := s["status"].(map[string]any)
		if status == nil {
			return nil
		}
		if to == "v1" {
			status["kept"] = s["shared"]
			delete(s, "shared")
		} else if kept, there := status["kept"]; there {
			s["shared"] = kept
			delete(status, "kept")
		}
		return nil
	})
	found := NewChecker(engine(g, stash), nil).Through(t.Context(), []Object{object(g, "o", "spec: {shared: a, size: 1}\nstatus: {ready: 1}")}, "v1",
		[]Object{object(g, "p", "apiVersion: example.com/v1\nstatus: {ready: 2}")})
	g.Expect(found[0]).To(ContainElement(And(HaveField("Kind", StatusWrite), HaveField("What", "spec.shared"), HaveField("Was", "a"))))
	g.Expect(found[0]).NotTo(ContainElement(HaveField("Kind", Lost)), "a trip keeps it")
}

func TestEachPairOfServedVersionsIsLookedAt(t *testing.T) {
	g := NewWithT(t)
	e := engine(g, does(same), "v1alpha1", "v1beta1", "v1")
	counts := NewCounts(e, []string{"spec.confirm"})
	NewChecker(e, []string{"spec.confirm"}).Check(t.Context(), []Object{object(g, "o", "spec: {gone: a, size: 1}")}, counts)
	r := ReportOf([]*Counts{counts}, []conversion.Accepted{{CRD: e.CRD, Path: "spec.gone", Reason: "meant"}, {CRD: e.CRD, Path: "spec.other", Reason: "gone"}}, nil)
	g.Expect(r.Unused).To(ConsistOf(HaveField("Path", "spec.other")))
	g.Expect(r.Verdict).To(Equal(conversion.NotKnown))
	g.Expect(r.CRDs[0].Findings).To(ConsistOf(And(HaveField("From", "v1beta1"), HaveField("Via", "v1"), HaveField("Accepted", "meant"))))
	g.Expect(r.CRDs[0].Unknown).To(ConsistOf(HaveField("From", "v1alpha1"), HaveField("From", "v1"), HaveField("What", ContainSubstring("no object has spec.confirm"))))
}

func TestTheKindsAreAsManyAsTheirRows(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Lost.order()).To(BeNumerically(">", Confirmation.order()))
	g.Expect([]bool{Unstable.Fails(), Empty.Fails(), Group{Kind: Lost, Accepted: "x"}.Fails()}).To(Equal([]bool{true, false, false}))
	said := map[string]bool{}
	for _, k := range kinds {
		said[k.kind.String()] = true
	}
	g.Expect(said).To(HaveLen(len(kinds)))
}

func TestFixturesAreReadOrTheirMistakesNamed(t *testing.T) {
	const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		found []string
	}{
		"a fixture of two releases": {files: map[string]string{"release-1/example.com.v1.Widget.yaml": widget, "release-2/example.com.v1.Widget.yaml": widget,
			"release-2/example.com.v1.Widget.after_roundtrip.yaml": widget, "README.md": "x"}, found: []string{"release-1/example.com.v1.Widget.yaml", "release-2/example.com.v1.Widget.yaml"}},
		"JSON, and a name of its own":    {files: map[string]string{"a/example.com.v1.Widget.small.json": `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`}, found: []string{"a/example.com.v1.Widget.small.json"}},
		"it is called otherwise":         {files: map[string]string{"a/widget.yaml": widget}, want: "call it example.com.v1.Widget.yaml"},
		"it is of another version":       {files: map[string]string{"a/example.com.v1beta1.Widget.yaml": widget}, want: "call it example.com.v1.Widget.yaml"},
		"there are two in it":            {files: map[string]string{"a/example.com.v1.Widget.yaml": widget + "---\n" + widget}, want: "several objects"},
		"it is no YAML":                  {files: map[string]string{"a/example.com.v1.Widget.yaml": "a: [\n"}, want: "a/example.com.v1.Widget.yaml: yaml"},
		"a key is there twice":           {files: map[string]string{"a/example.com.v1.Widget.yaml": widget + "kind: Other\n"}, want: `key "kind" already set`},
		"it is empty":                    {files: map[string]string{"a/example.com.v1.Widget.yaml": "\n"}, want: "it holds no object"},
		"it is a list":                   {files: map[string]string{"a/example.com.v1.Widget.yaml": "[]"}, want: "it holds no object"},
		"it lacks its kind":              {files: map[string]string{"a/example.com.v1.Widget.yaml": "apiVersion: example.com/v1\n"}, want: "lacks apiVersion: group/version, or kind"},
		"it is of the core":              {files: map[string]string{"a/v1.Pod.yaml": "apiVersion: v1\nkind: Pod\n"}, want: "lacks apiVersion: group/version, or kind"},
		"it lacks its name":              {files: map[string]string{"a/example.com.v1.Widget.yaml": "apiVersion: example.com/v1\nkind: Widget\n"}, want: "lacks metadata.name"},
		"what is expected is of nothing": {files: map[string]string{"a/example.com.v1.Widget.after_roundtrip.yaml": widget}, want: "there is no example.com.v1.Widget.yaml beside it"},
		"what is expected is of another": {files: map[string]string{"a/example.com.v1.Widget.yaml": widget, "a/example.com.v1.Widget.after_roundtrip.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: b}\n"}, want: "of another object or version"},
		"a setting is not known":         {files: map[string]string{Settings: "confirmation: []"}, want: `moult-test.yaml: error unmarshaling JSON: while decoding JSON: json: unknown field "confirmation"`},
		"a confirmation lacks its path":  {files: map[string]string{Settings: "confirmations: [{crd: a}]"}, want: "entry 1 of confirmations lacks the crd or the path"},
		"a confirmation is no path":      {files: map[string]string{Settings: "confirmations: [{crd: a, path: 'spec.users[0].confirm'}]"}, want: "write spec.users[*].confirm"},
		"values are for no path":         {files: map[string]string{Settings: "values: [{crd: a, path: .spec.a, values: [1]}]"}, want: "write spec.a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var files []File
			for _, name := range slices.Sorted(maps.Keys(c.files)) {
				files = append(files, File{name, []byte(c.files[name])})
			}
			objects, _, err := Fixtures(files)
			if c.want != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.want)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var found []string
			for _, o := range objects {
				found = append(found, o.Name)
			}
			g.Expect(found).To(Equal(c.found))
		})
	}
}

func TestAPathIsFoundInAnObject(t *testing.T) {
	g := NewWithT(t)
	o := map[string]any{"spec": map[string]any{"list": []any{map[string]any{"a": "x"}}, "n": nil}, "metadata": map[string]any{"annotations": map[string]any{"a.b/c": "y"}}}
	for path, want := range map[string]bool{"spec": true, "spec.list[0].a": true, "spec.list[1]": false, "metadata.annotations.a.b/c": true, "spec.li": false, "spec.n": false, "spec.list[0].b": false} {
		g.Expect(has(o, path)).To(Equal(want), path)
	}
	g.Expect(overlap(crdschema.Path{"a", 0}, crdschema.Path{"a"})).To(BeTrue())
	g.Expect([]bool{covers("spec.a", "spec.a.b"), covers("spec.a", "spec.ab"), covers("spec.a", "spec.a[0]")}).To(Equal([]bool{true, false, true}))
}

// What is only worth knowing does not hide, by its number, what is lost.
func TestALossAfterManyFindingsIsReported(t *testing.T) {
	g := NewWithT(t)
	e := engine(g, does(same), "v1alpha1", "v1")
	counts := NewCounts(e, nil)
	o := object(g, "o", "spec: {size: 1}")
	for i := range 2 * most {
		counts.add(o, "v1", []Problem{{Kind: Added, What: fmt.Sprintf("spec.f%d", i)}})
	}
	counts.add(o, "v1", []Problem{{Kind: Lost, What: "spec.size"}})
	r := ReportOf([]*Counts{counts}, nil, nil)
	g.Expect(r.Verdict).To(Equal(conversion.NotKept))
	g.Expect(r.CRDs[0].Findings).To(HaveLen(most + 2))
	g.Expect(r.CRDs[0].Findings[0]).To(And(HaveField("Kind", Lost), HaveField("What", "spec.size")), "it is named")
	g.Expect(r.CRDs[0].Findings).To(ContainElement(And(HaveField("Kind", Added), HaveField("What", others), HaveField("Objects", BeEquivalentTo(most)))))
}
