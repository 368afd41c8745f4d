package removal_test

import (
	"encoding/json"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// ports is a list of ports with the keys, or atomic without any.
func ports(keys ...string) apiextensionsv1.JSONSchemaProps {
	type props = map[string]apiextensionsv1.JSONSchemaProps
	protocol := apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"TCP"`)}}
	item := apiextensionsv1.JSONSchemaProps{Type: "object", Required: keys, Properties: props{"name": {Type: "string"}, "port": {Type: "integer"}, "protocol": protocol}}
	item.Required = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "protocol" })
	list := apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
	if len(keys) > 0 {
		kind := "map"
		list.XListType, list.XListMapKeys = &kind, keys
	}
	return list
}

// limits is a map, atomic or not.
func limits(atomic bool) apiextensionsv1.JSONSchemaProps {
	m := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}}
	if atomic {
		kind := "atomic"
		m.XMapType = &kind
	}
	return m
}

// What a manager applied at v1alpha1 and leaves out at v1 goes away, with Moult in between as without, where lists and
// maps are divided otherwise at v1. From atomic to granular the API server itself forgets it, and Moult does not.
func TestOwnershipFollowsTheKeysOfLists(t *testing.T) {
	type schemas struct {
		before, after apiextensionsv1.JSONSchemaProps
	}
	two := []any{map[string]any{"name": "a", "port": 1}, map[string]any{"name": "b", "port": 2}}
	one := two[:1]
	for name, c := range map[string]struct {
		schemas
		before, after any
	}{
		"map list to atomic list": {schemas{ports("name"), ports()}, two, one},
		"another key":             {schemas{ports("name"), ports("name", "protocol")}, two, one},
		"one key less":            {schemas{ports("name", "protocol"), ports("name")}, two, one},
		"atomic list to map list": {schemas{ports(), ports("name")}, two, one},
		"granular map to atomic":  {schemas{limits(false), limits(true)}, map[string]any{"a": "1", "b": "2"}, map[string]any{"a": "1"}},
	} {
		for _, moult := range []bool{false, true} {
			if !moult && name == "atomic list to map list" {
				continue
			}
			t.Run(name+map[bool]string{false: " without Moult", true: " with Moult"}[moult], func(t *testing.T) {
				g := NewWithT(t)
				crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
				for i, list := range []apiextensionsv1.JSONSchemaProps{c.schemas.before, c.schemas.after} {
					crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties["ports"] = list
				}
				w := running.Install(t, cp, crd)
				apply := func(version string, value any) *unstructured.Unstructured {
					t.Helper()
					body, _ := json.Marshal(map[string]any{"apiVersion": w.GR.Group + "/" + version, "kind": "Widget",
						"metadata": map[string]any{"name": "one", "namespace": "default"}, "spec": map[string]any{"ports": value}})
					force := true
					o, err := w.Objects(version).Patch(t.Context(), "one", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "flux", Force: &force})
					g.Expect(err).NotTo(HaveOccurred())
					return o
				}
				apply("v1alpha1", c.before)
				w.Flip("v1")
				if moult {
					gate := running.GateFor(w)
					gate.Ask()
					stop := running.Moult(t, cp.Config, running.Quick(w.GR.Group), removal.Options{})
					g.Eventually(gate.Verdict, running.Soon).Should(Equal("True SafeToRemove"))
					stop()
				}
				o := apply("v1", c.after)
				left, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "ports")
				g.Expect(left).To(HaveLen(1), "what flux no longer applies: %v", left)
			})
		}
	}
}
