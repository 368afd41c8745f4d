package rewrite

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

func TestHasPath(t *testing.T) {
	yes := true
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	list := func(of *apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: of}}
	}
	mapOf := func(of apiextensionsv1.JSONSchemaPropsOrBool) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &of}
	}
	keeping := func(p apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		p.XPreserveUnknownFields = &yes
		return p
	}
	schema := object(props{
		"spec": *object(props{
			"name":     text,
			"labels":   mapOf(apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}),
			"sizes":    mapOf(apiextensionsv1.JSONSchemaPropsOrBool{Schema: object(props{"width": text})}),
			"anything": mapOf(apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}),
			"nothing":  mapOf(apiextensionsv1.JSONSchemaPropsOrBool{}),
			"tags":     list(&text),
			"parts":    list(object(props{"name": text})),
			"open":     {Type: "object", XPreserveUnknownFields: &yes, Properties: props{"closed": *object(props{"a": text})}},
			"template": {Type: "object", XEmbeddedResource: true, Properties: props{"spec": *object(props{"a": text})}},
			"plain":    *object(props{"a": text}),
			"kept":     keeping(list(object(props{"name": text, "closed": *object(props{"a": text})}))),
			"nested":   keeping(list(new(list(object(props{"name": text}))))),
		}),
	})
	key := func(name string) fieldpath.PathElement {
		return fieldpath.PathElement{Key: &value.FieldList{{Name: "name", Value: value.NewValueInterface(name)}}}
	}
	item := func(of any) fieldpath.PathElement {
		v := value.NewValueInterface(of)
		return fieldpath.PathElement{Value: &v}
	}
	for name, c := range map[string]struct {
		schema *apiextensionsv1.JSONSchemaProps
		path   []any
		want   bool
	}{
		"a property":                                          {schema, []any{"spec", "name"}, true},
		"a property that is not there":                        {schema, []any{"spec", "gone"}, false},
		"a property of one that is not there":                 {schema, []any{"spec", "gone", "deeper"}, false},
		"a property of a text":                                {schema, []any{"spec", "name", "deeper"}, false},
		"the root":                                            {schema, nil, true},
		"a key of a map":                                      {schema, []any{"spec", "labels", "a"}, true},
		"below a key of a map":                                {schema, []any{"spec", "sizes", "small", "width"}, true},
		"below a key of a map, not there":                     {schema, []any{"spec", "sizes", "small", "gone"}, false},
		"a key of a map of anything":                          {schema, []any{"spec", "anything", "a", "b"}, true},
		"a key of a map that allows none":                     {schema, []any{"spec", "nothing", "a"}, false},
		"an item by value":                                    {schema, []any{"spec", "tags", item("a")}, true},
		"an item by index":                                    {schema, []any{"spec", "tags", 3}, true},
		"an item by key":                                      {schema, []any{"spec", "parts", key("head")}, true},
		"a property of an item":                               {schema, []any{"spec", "parts", key("head"), "name"}, true},
		"a property of an item, not there":                    {schema, []any{"spec", "parts", key("head"), "gone"}, false},
		"an item of what is no list any more":                 {schema, []any{"spec", "plain", key("head")}, false},
		"a property of what is a list now":                    {schema, []any{"spec", "tags", "a"}, false},
		"an unknown field that is preserved":                  {schema, []any{"spec", "open", "unknown", "deeper"}, true},
		"a known one beside it":                               {schema, []any{"spec", "open", "closed", "a"}, true},
		"an unknown one in a known one beside it":             {schema, []any{"spec", "open", "closed", "unknown"}, false},
		"an unknown field of an item that its list preserves": {schema, []any{"spec", "kept", key("head"), "unknown", "deeper"}, true},
		"a known one of such an item":                         {schema, []any{"spec", "kept", key("head"), "closed", "a"}, true},
		"an unknown one in a known one of such an item":       {schema, []any{"spec", "kept", key("head"), "closed", "unknown"}, false},
		"an unknown field of an item of such an item":         {schema, []any{"spec", "nested", 0, 0, "unknown"}, true},
		"metadata":                                           {schema, []any{"metadata", "labels", "a"}, true},
		"the kind":                                           {schema, []any{"kind"}, true},
		"metadata of an embedded resource":                   {schema, []any{"spec", "template", "metadata", "labels", "a"}, true},
		"apiVersion of an embedded resource":                 {schema, []any{"spec", "template", "apiVersion"}, true},
		"an embedded resource's own field":                   {schema, []any{"spec", "template", "spec", "a"}, true},
		"an embedded resource's own field, not there":        {schema, []any{"spec", "template", "spec", "gone"}, false},
		"metadata of what is no resource":                    {schema, []any{"spec", "plain", "metadata"}, false},
		"anything, without a schema":                         {nil, []any{"spec", "gone", key("a"), 7}, true},
		"anything, with a schema that preserves all":         {&apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &yes}, []any{"spec", "a"}, true},
		"an item of a list that says nothing of its items":   {object(props{"l": {Type: "array"}}), []any{"l", 0}, false},
		"a field of an object that says nothing of its own":  {object(props{"o": {Type: "object"}}), []any{"o", "a"}, false},
		"a field that says explicitly that it preserves not": {object(props{"o": {Type: "object", XPreserveUnknownFields: new(bool)}}), []any{"o", "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(HasPath(c.schema)(fieldpath.MakePathOrDie(c.path...))).To(Equal(c.want))
		})
	}
}

func TestSameGroups(t *testing.T) {
	yes, set, atomic := true, "set", "atomic"
	list := func(keys ...string) apiextensionsv1.JSONSchemaProps {
		kind := "map"
		item := object(props{"name": {Type: "string"}, "tags": {Type: "array", XListType: &set}})
		return apiextensionsv1.JSONSchemaProps{Type: "array", XListType: &kind, XListMapKeys: keys, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: item}}
	}
	plain := apiextensionsv1.JSONSchemaProps{Type: "array"}
	of := func(p apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps { return object(props{"a": p}) }
	deeper := list("name")
	deeper.Items.Schema.Properties["tags"] = plain
	for name, c := range map[string]struct {
		a, b *apiextensionsv1.JSONSchemaProps
		same bool
	}{
		"no schema":                         {nil, nil, true},
		"a field that only one has":         {object(props{}), of(list("name")), true},
		"a field that one keeps unknown":    {&apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &yes}, of(list("name")), false},
		"a field that a list keeps unknown": {keptItems(object(props{})), keptItems(of(list("name"))), false},
		"keys in another order":             {of(list("name", "port")), of(list("port", "name")), true},
		"another key":                       {of(list("name")), of(list("name", "port")), false},
		"atomic, said and not":              {of(plain), of(apiextensionsv1.JSONSchemaProps{Type: "array", XListType: &atomic}), true},
		"atomic and by key":                 {of(plain), of(list("name")), false},
		"a set, and by key":                 {of(apiextensionsv1.JSONSchemaProps{Type: "array", XListType: &set}), of(list("name")), false},
		"in the items of a list":            {of(list("name")), of(deeper), false},
		"a list without a schema":           {nil, of(plain), true},
		"a list by key without a schema":    {nil, of(list("name")), false},
		"an atomic map":                     {of(apiextensionsv1.JSONSchemaProps{Type: "object"}), of(apiextensionsv1.JSONSchemaProps{Type: "object", XMapType: &atomic}), false},
		"in additional properties":          {object(props{}), object(props{}), true},
		"in additional properties: a set":   {additional(list("name")), additional(plain), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(SameGroups(c.a, c.b)).To(Equal(c.same))
			g.Expect(SameGroups(c.b, c.a)).To(Equal(c.same))
		})
	}
}

// keptItems is an object with a list that keeps what its items do not name.
func keptItems(item *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	return object(props{"kept": {Type: "array", XListType: new("map"), XListMapKeys: []string{"name"}, XPreserveUnknownFields: new(true),
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: item}}})
}

func additional(s apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &s}}
}
