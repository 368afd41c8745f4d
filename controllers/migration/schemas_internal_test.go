package migration

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
)

// A CRD is decoded, and its schemas are compared, where there is room for what its schemas count as. So they may take no more.
func TestSchemasTakeNoMoreThanTheyCountAs(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	rapid.Check(t, func(rt *rapid.T) {
		raw := anyLargeCRD(rt, 30<<10)
		most := int64(setup.SchemaBytesIn(raw)) * rewrite.SchemaOf
		var err error
		taken := int64(0)
		for range 3 { // what is allocated while garbage is collected counts as if it were in use
			taken = mostLive(func() {
				crd := &apiextensionsv1.CustomResourceDefinition{}
				if err = utiljson.Unmarshal(raw, crd); err == nil {
					_, err = (&Reconciler{}).fieldsIn(crd)
				}
			})
			if taken <= most {
				break
			}
		}
		if err != nil && !strings.Contains(err.Error(), "would make the object larger") {
			rt.Fatalf("%v: %.3000s", err, raw)
		}
		if taken > most {
			rt.Fatalf("%d bytes are taken, and %d counted, of %d bytes: %.3000s", taken, most, len(raw), raw)
		}
	})
}

// mostLive is how many bytes of memory are in use at a time, at most, beside those that were before.
func mostLive(f func()) int64 {
	live := func() int64 {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64()) //nolint:gosec // far less
	}
	runtime.GC()
	runtime.GC()
	before, most := live(), atomic.Int64{}
	done := atomic.Bool{}
	var look func()
	look = func() {
		most.Store(max(most.Load(), live()))
		if !done.Load() {
			runtime.AddCleanup(new([64]byte), func(int) { look() }, 0) // after the next collection
		}
	}
	look()
	f()
	done.Store(true)
	return max(most.Load(), live()) - before
}

// anyLargeCRD has schemas of so many bytes, most of which are fields of one form.
func anyLargeCRD(t *rapid.T, size int) []byte {
	field, name := anyField(t, 3), strings.Repeat("f", rapid.SampledFrom([]int{1, 1, 1, 40}).Draw(t, "name"))
	wide := func() string {
		all := &strings.Builder{}
		for i := 0; all.Len() < size; i++ {
			_, _ = fmt.Fprintf(all, `"%s%x":%s,`, name, i, field)
		}
		return fmt.Sprintf(`{"type":"object","properties":{"spec":{"type":"object","properties":{%s"a":{"type":"string"}}}}}`, all)
	}
	schemas := []string{wide()}
	for range rapid.IntRange(1, 3).Draw(t, "versions") {
		schemas = append(schemas, rapid.SampledFrom([]string{
			`{"type":"object"}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, wide(),
			`{"type":"object","properties":{"spec":{"type":"object","properties":{"b":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
			`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"x-kubernetes-preserve-unknown-fields":true}}}}`,
			`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":` + field + `}}}`,
		}).Draw(t, "other version"))
	}
	schemas = rapid.Permutation(schemas).Draw(t, "order")
	versions := []string{}
	for i, schema := range schemas {
		versions = append(versions, fmt.Sprintf(`{"name":"v%d","served":true,"storage":%t,"schema":{"openAPIV3Schema":%s}}`, i+1, i == 0, schema))
	}
	return fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com","resourceVersion":"1"},"spec":{
		"group":"example.com","names":{"plural":"widgets","kind":"Widget"},"scope":"Namespaced","conversion":{"strategy":"None"},"versions":[%s]}}`, strings.Join(versions, ","))
}

// anyField is the schema of a field.
func anyField(t *rapid.T, depth int) string {
	texts := []string{
		`{"type":"string"}`, `{"type":"integer"}`, `{"type":"object"}`, `{"type":"string","nullable":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`,
		`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`, `{"x-kubernetes-int-or-string":true}`,
		`{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}`, `{"type":"string","pattern":"^[a-z]{3}$","description":"` + strings.Repeat("w", 300) + `"}`,
		`{"type":"string","enum":["a","b","","d","e","f","g","h"]}`, `{"type":"integer","enum":[0,1,2,3,4,5,6,7,8,9],"minimum":0,"maximum":9}`, `{"type":"string","default":"x"}`,
		`{"type":"object","default":{"a":{},"b":[{}],"c":0},"x-kubernetes-preserve-unknown-fields":true}`, `{"type":"object","default":{},"properties":{"a":{"type":"integer","default":1}}}`,
		`{"type":"object","additionalProperties":true}`, `{"type":"array","items":{"type":"integer"},"default":[0,0,0,0,0,0]}`, `{"type":"string","maxLength":3,"minLength":1,"format":"date-time"}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"allOf":[{"required":["a"]},{"properties":{"a":{"minLength":1}}},{"not":{"required":["a"]}}]}`,
		`{"type":"object","x-kubernetes-validations":[{"rule":"true","message":"m"},{"rule":"true"}],"x-kubernetes-map-type":"atomic"}`,
		`{"type":"string","anyOf":[{},{},{},{}]}`, `{"type":"string","not":{"not":{"not":{}}}}`, `{"type":"array","items":{"type":"array","items":{"type":"object"}}}`,
	}
	kinds := []string{"text"}
	if depth > 0 {
		kinds = []string{"text", "text", "map", "list", "fields", "all", "open list", "deep"}
	}
	below := func() string { return anyField(t, depth-1) }
	switch rapid.SampledFrom(kinds).Draw(t, "field") {
	case "deep":
		levels := rapid.IntRange(1, 12).Draw(t, "levels")
		return strings.Repeat(`{"type":"object","properties":{"a":`, levels) + below() + strings.Repeat("}}", levels)
	case "map":
		return fmt.Sprintf(`{"type":"object","additionalProperties":%s}`, below())
	case "list":
		return fmt.Sprintf(`{"type":"array","items":%s}`, below())
	case "open list":
		return fmt.Sprintf(`{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":%s}`, below())
	case "fields":
		return fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s}}`, below(), below())
	case "all":
		return fmt.Sprintf(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":%s}}`, below())
	default:
		return rapid.SampledFrom(texts).Draw(t, "text")
	}
}
