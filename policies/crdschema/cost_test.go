package crdschema_test

import (
	"fmt"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/test/builders"
)

// Anybody who may write objects decides how many fields of one are lost. Twice as large an object takes twice as much work.
func TestTheCostOfLookingIsThatOfTheObject(t *testing.T) {
	const list = `data: {type: array, items: {type: object, properties: {a: {type: integer} `
	const listOf = list + `}}}`
	open := `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	items := func(n int) any {
		all := make([]any, n)
		for i := range all {
			all[i] = map[string]any{"b": int64(7)}
		}
		return map[string]any{"data": all}
	}
	for name, c := range map[string]struct {
		old, storage string
		content      func(n int) any
		lost         int
	}{
		"a field of each item":                 {spec(list + `, b: {type: integer}}}}`), spec(listOf), items, 1},
		"a field that has its default in each": {spec(list + `, b: {type: integer, default: 7}}}}`), spec(listOf), items, 0},
		"fields that no schema names": {open, spec(`a: {type: string}`), func(n int) any {
			all := map[string]any{}
			for i := range n {
				all[strings.Repeat("k", i%100)+string(rune(0x4e00+i))] = "x"
			}
			return all
		}, -1},
		"a default in each, beside another field with a large one": {
			spec(`other: {type: string, default: ` + strings.Repeat("x", 1000) + `}, ` + list + `, b: {type: integer, default: 7}}}}`), spec(listOf), items, 0},
		"what lies deep where everything is kept": {open, open, func(n int) any {
			value := any("x")
			for range n {
				value = map[string]any{"a": value, "b": "x"}
			}
			return value
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			finder, err := crdschema.Of(crd(t, c.old, c.storage))
			g.Expect(err).NotTo(HaveOccurred())
			work := func(n int) (bytes uint64) {
				object := map[string]any{"spec": c.content(n)}
				bytes = allocated(func() {
					lost, err := finder.Lost(object, "v1alpha1")
					g.Expect(err).NotTo(HaveOccurred())
					if c.lost >= 0 {
						g.Expect(lost).To(HaveLen(c.lost))
					} else {
						g.Expect(lost).To(HaveLen(n))
					}
				})
				return bytes
			}
			work(10) // whatever is made once
			g.Expect(work(1000)).To(BeNumerically("<", 3*work(500)))
		})
	}
}

// The path of a field has all keys above it, and a key may be as long as an object.
func TestALongKeyIsNotInThePathOfEachFieldBelowIt(t *testing.T) {
	g := NewWithT(t)
	fields := map[string]any{}
	for i := range 8_000 {
		fields[fmt.Sprint("a", i)] = int64(1)
	}
	key := strings.Repeat("\x01", 300<<10)
	object := func(key string) map[string]any { return map[string]any{"spec": map[string]any{key: fields}} }
	finder, err := crdschema.Of(crd(t, `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`,
		`{type: object, properties: {spec: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}}}`))
	g.Expect(err).NotTo(HaveOccurred())
	var lost []string
	g.Expect(allocated(func() { lost, err = finder.Lost(object(key), "v1alpha1") })).To(BeNumerically("<", 100<<20))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(ContainElement(crdschema.More))
	g.Expect(crdschema.Allows([]string{"*", "*.*.*", "spec.*.*", crdschema.More[:5]}, crdschema.More)).To(BeFalse())

	lostOf := func(key string) []string {
		texts, no := crdschema.Texts{}, func(crdschema.Path) {}
		crdschema.Compare(object(key), map[string]any{"spec": map[string]any{key: map[string]any{}}}, texts.Add, no, no)
		return texts.Sorted()
	}
	g.Expect(allocated(func() { lost = lostOf(key) })).To(BeNumerically("<", 100<<20))
	other := lostOf(key + "x")
	g.Expect(other[len(other)-1]).NotTo(Equal(lost[len(lost)-1]), "another key is another path")
}

// allocated is how many bytes a function allocates.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// anyVersion is a version of any schema, and an object of it.
func anyVersion(t *rapid.T) (*crdschema.Version, map[string]any) {
	schema := builders.AnySchema(t, "schema")
	of := &apiextensionsv1.CustomResourceDefinition{}
	of.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema}}}
	v, err := crdschema.VersionOf(of, "v1")
	if err != nil {
		t.Fatal(err)
	}
	object, _ := builders.ContentOf(t, schema).(map[string]any)
	return v, object
}

// What lies at a path is judged without what lies beside it, and as if the whole object had been read without it.
func TestAPartIsADefaultAsInTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v, object := anyVersion(rt)
		if rapid.Bool().Draw(rt, "with all defaults") {
			v.Fill(object)
		}
		was, err := v.Read(object)
		if err != nil {
			rt.Fatal(err)
		}
		for _, p := range crdschema.ChangeOf(map[string]any{}, object).Added {
			eachBelow(object, p, func(p crdschema.Path) {
				last := len(p) - 1
				name, isName := p[last].(string)
				if !isName {
					return
				}
				lacking := runtime.DeepCopyJSON(object)
				fields, _ := crdschema.At(lacking, p[:last]).(map[string]any)
				delete(fields, name)
				is, err := v.Read(lacking)
				if whole := err == nil && reflect.DeepEqual(was, is); v.IsDefault(object, p) != whole {
					rt.Fatalf("%s: %t in the whole of %v", p, whole, object)
				}
			})
		}
	})
}

func eachBelow(object map[string]any, p crdschema.Path, do func(crdschema.Path)) {
	do(p)
	switch value := crdschema.At(object, p).(type) {
	case map[string]any:
		for name := range value {
			eachBelow(object, append(slices.Clip(p), name), do)
		}
	case []any:
		for i := range value {
			eachBelow(object, append(slices.Clip(p), i), do)
		}
	}
}

// A schema is converted without a copy of all of it in between, and a finder has no more of it than it needs.
func TestASchemaIsNotHeldTwice(t *testing.T) {
	g := NewWithT(t)
	with := crd(t, spec("a: {type: string}"), spec("a: {type: string}"))
	props := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range 10_000 {
		props[fmt.Sprint("f", i)] = apiextensionsv1.JSONSchemaProps{Type: "object", Format: "x"}
	}
	with.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = props
	var finder *crdschema.Finder
	live := func() uint64 {
		goruntime.GC()
		var is goruntime.MemStats
		goruntime.ReadMemStats(&is)
		return is.HeapAlloc
	}
	before := live()
	g.Expect(allocated(func() { finder, _ = crdschema.Of(with) })).To(BeNumerically("<", 30<<20))
	g.Expect(live()).To(BeNumerically("<", before+4<<20))
	goruntime.KeepAlive(with)
	g.Expect(finder.Lacking("v1alpha1")).To(HaveLen(10_000))
}

// To write a hundred thousand errors took ten minutes.
func TestOfASchemaThatIsNotStructuralNotAllErrorsAreWritten(t *testing.T) {
	g := NewWithT(t)
	with := crd(t, spec("a: {type: string}"), spec("a: {type: string}"))
	props := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range 10_000 {
		props[fmt.Sprint("f", i)] = apiextensionsv1.JSONSchemaProps{}
	}
	with.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = props
	_, err := crdschema.Of(with)
	g.Expect(err).To(MatchError(ContainSubstring("the schema of v1alpha1 is not structural: [properties[f0].type: Required value")))
	g.Expect(len(err.Error())).To(BeNumerically("<", 3000))
}

// An object is held twice while it is compared. A list of mappings of one key takes forty times as much as its text.
func TestAnObjectThatTakesTooMuchIsNotCompared(t *testing.T) {
	g := NewWithT(t)
	old, storage := spec(`items: {type: array, items: {type: object, properties: {a: {type: integer}}}}, old: {type: string}`), spec(`items: {type: array, items: {type: object, properties: {a: {type: integer}}}}`)
	finder, err := crdschema.Of(crd(t, old, storage))
	g.Expect(err).NotTo(HaveOccurred())
	object := func(n int, item any) map[string]any {
		items := make([]any, n)
		for i := range items {
			items[i] = runtime.DeepCopyJSONValue(item)
		}
		return map[string]any{"spec": map[string]any{"items": items, "old": "x"}}
	}
	dense := object(160_000, map[string]any{"a": int64(1)})
	g.Expect(allocated(func() { _, err = finder.LostFrom(dense, "v1alpha1") })).To(BeNumerically("<", 1<<20))
	g.Expect(err).To(MatchError(&crdschema.TooLarge{Most: crdschema.MostCompared}))
	_, err = finder.Lost(dense, "v1alpha1")
	g.Expect(err).To(MatchError(ContainSubstring("takes more than 32 MiB")))

	for name, ordinary := range map[string]map[string]any{
		"a long text":   {"spec": map[string]any{"old": strings.Repeat("x", 1<<20)}},
		"half a MB":     object(5_000, map[string]any{"a": int64(1), "name": "a name of a rule", "ports": []any{map[string]any{"port": int64(8080), "protocol": "TCP"}}, "labels": map[string]any{"app": "x"}}),
		"many mappings": object(80_000, map[string]any{"a": int64(1)}),
	} {
		lost, err := finder.LostFrom(ordinary, "v1alpha1")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(lost).To(ContainElement("spec.old"), name)
	}
}
