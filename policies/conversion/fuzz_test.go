package conversion

import (
	"context"
	"os"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// pair is what v1alpha1 and v1 know.
type pair struct{ V1alpha1, V1 string }

// pairs are those that test/conformance shows to a real API server.
func pairs(t testing.TB) (all map[string]pair) {
	t.Helper()
	content, err := os.ReadFile("testdata/pairs.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(content, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// answers converts every object to one that is given, and to itself without one.
type answers struct{ object map[string]any }

func (a answers) Convert(ctx context.Context, objects []map[string]any, apiVersion string) ([]map[string]any, error) {
	if a.object == nil {
		return none{}.Convert(ctx, objects, apiVersion)
	}
	all := make([]map[string]any, len(objects))
	for i := range all {
		all[i] = runtime.DeepCopyJSON(a.object)
		all[i]["apiVersion"] = apiVersion
	}
	return all, nil
}

// Whatever the schemas, the object and the webhook's answer are, there is an outcome, the same each time. The object is
// not changed, and what the API server prunes of it is reported.
func FuzzRehearse(f *testing.F) {
	for _, object := range []string{
		`{"metadata":{"name":"o"},"spec":{"a":"x","num":3,"l":[{"k":"a","v":0.1},{"k":"a","v":9007199254740993}]}}`,
		`{"spec":{"a":null,"b":{"c":[[1,{"d":[]}]]}},"status":{}}`,
		`{"e":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":1},"x":2},"spec":{}},"i":"50%","z":null}`,
		`{"spec":{"a":{"b":1e300,"c.d[0]":-0.0}}}`, `{"spec":[],"metadata":[]}`, `{"kind":3,"metadata":{"name":{}}}`,
	} {
		for _, pair := range pairs(f) {
			f.Add(pair.V1alpha1, pair.V1, []byte(object), []byte(``))
			f.Add(pair.V1alpha1, pair.V1, []byte(object), []byte(`{"spec":{"a":"y"}}`))
		}
	}
	f.Fuzz(func(t *testing.T, before, after string, object, answer []byte) {
		e := engineOf(before, after)
		if e == nil {
			return
		}
		var given, answered map[string]any
		if json.Unmarshal(object, &given) != nil || given == nil {
			return
		}
		if json.Unmarshal(answer, &answered) == nil && answered != nil {
			e = e.With(answers{answered})
		}
		given["apiVersion"] = "example.com/v1alpha1"
		copied := runtime.DeepCopyJSON(given)
		o := e.Rehearse(t.Context(), given)
		if !reflect.DeepEqual(given, copied) {
			t.Fatalf("the object was changed: %v, and was %v", given, copied)
		}
		if again := e.Rehearse(t.Context(), given); !reflect.DeepEqual(o, again) {
			t.Fatalf("%v, and then %v", o, again)
		}
		NewTally().Begin(e, "", "").Add(o)
		if answered != nil || len(o.Failed) > 0 || o.Unknown != "" {
			return
		}
		read, err := e.versions["v1alpha1"].Read(given)
		if err != nil {
			t.Fatal(err)
		}
		dropped := pruning.PruneWithOptions(read, e.versions["v1"].Schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if len(dropped) > 0 && len(o.Lost)+len(o.Undefaulted) == 0 {
			t.Fatalf("%v are dropped, and rehearsed was %v", dropped, o)
		}
	})
}

// engineOf is nil for schemas that are none.
func engineOf(before, after string) *Engine {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.Spec.Group, crd.Spec.Names.Kind = "widgets.example.com", "example.com", "Widget"
	for i, text := range []string{before, after} {
		schema := &apiextensionsv1.JSONSchemaProps{}
		if yaml.Unmarshal([]byte(text), schema) != nil {
			return nil
		}
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: []string{"v1alpha1", "v1"}[i], Served: true, Storage: i == 1, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
		})
	}
	e, err := New(crd)
	if err != nil {
		return nil
	}
	return e
}
