package crddiff

import (
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// plainCRD has one version with one field, spec.field.
func plainCRD() *definition {
	crd := &definition{}
	crd.Name = "widgets.example.com"
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"}
	crd.Spec.Versions = []versionOf{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &schema{Type: "object", Properties: map[string]schema{"spec": {Type: "object", Properties: map[string]schema{"field": {}}}}},
	}}}
	return crd
}

// different sets a value to one that it did not have.
func different(v reflect.Value) {
	switch v.Interface().(type) {
	case apiextensionsv1.JSON:
		v.Set(reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(`"x"`)}))
		return
	case schema:
		v.Set(reflect.ValueOf(schema{Type: "string"}))
		return
	}
	switch v.Kind() { //nolint:exhaustive // a kind that comes panics
	case reflect.String:
		v.SetString("different" + v.String())
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int64, reflect.Int32:
		v.SetInt(v.Int() + 7)
	case reflect.Float64:
		v.SetFloat(v.Float() + 7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		different(v.Elem())
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		different(one)
		v.Set(reflect.Append(v, one))
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		different(one)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("new"), one)
	case reflect.Struct:
		for i := range v.NumField() {
			different(v.Field(i))
		}
	default:
		panic("nobody thought of " + v.Kind().String())
	}
}

// Whatever Kubernetes adds to the schema of a field, some rule sees it.
func TestNoKeywordOfASchemaIsOverlooked(t *testing.T) {
	of := reflect.TypeFor[schema]()
	for i := range of.NumField() {
		keyword, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		t.Run(keyword, func(t *testing.T) {
			g := NewWithT(t)
			base, head := plainCRD(), plainCRD()
			s := head.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			field := s.Properties["field"]
			different(reflect.ValueOf(&field).Elem().Field(i))
			s.Properties["field"] = field
			g.Expect(Compare(base, head, v1alpha1.MigrateLabel).Changes).NotTo(BeEmpty())
			g.Expect(Compare(head, base, v1alpha1.MigrateLabel).Changes).NotTo(BeEmpty(), "what goes is seen as well")
		})
	}
}

func TestThatNothingElseIsAllowedIsNotOverlooked(t *testing.T) {
	g := NewWithT(t)
	base, head := plainCRD(), plainCRD()
	head.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["field"] = schema{AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{}}
	g.Expect(Compare(base, head, "").Changes).To(ConsistOf(HaveField("Rule", SchemaChanged)))
}

func TestNoFieldOfACRDIsOverlooked(t *testing.T) {
	for name, place := range map[string]func(*definition) any{
		"spec":       func(crd *definition) any { return &crd.Spec },
		"names":      func(crd *definition) any { return &crd.Spec.Names },
		"a version":  func(crd *definition) any { return &crd.Spec.Versions[0] },
		"conversion": func(crd *definition) any { crd.Spec.Conversion = webhookNamed("a"); return crd.Spec.Conversion },
		"the webhook": func(crd *definition) any {
			crd.Spec.Conversion = webhookNamed("a")
			return crd.Spec.Conversion.Webhook
		},
		"the webhook's client": func(crd *definition) any {
			crd.Spec.Conversion = webhookNamed("a")
			return crd.Spec.Conversion.Webhook.ClientConfig
		},
		"the webhook's service": func(crd *definition) any {
			crd.Spec.Conversion = webhookNamed("a")
			return crd.Spec.Conversion.Webhook.ClientConfig.Service
		},
	} {
		fields := reflect.TypeOf(place(plainCRD())).Elem()
		for i := range fields.NumField() {
			t.Run(name+" "+fields.Field(i).Name, func(t *testing.T) {
				base, head := plainCRD(), plainCRD()
				place(base)
				different(reflect.ValueOf(place(head)).Elem().Field(i))
				NewWithT(t).Expect(Compare(base, head, v1alpha1.MigrateLabel).Changes).NotTo(BeEmpty())
			})
		}
	}
}

func webhookNamed(name string) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig:             &webhookClient{Service: &apiextensionsv1.ServiceReference{Namespace: "widgets", Name: name}},
		ConversionReviewVersions: []string{"v1"},
	}}
}

// A CRD from Git and one from a cluster are written by different programs.
func TestTheSameValueInOtherWordsIsNoChange(t *testing.T) {
	g := NewWithT(t)
	base, head := plainCRD(), plainCRD()
	with := func(crd *definition, value string) {
		json := apiextensionsv1.JSON{Raw: []byte(value)}
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["field"] = schema{Default: &json, Enum: []apiextensionsv1.JSON{json}}
	}
	with(base, `{"a":1,"b":"<"}`)
	with(head, ` { "b" : "\u003c", "a" : 1 } `)
	g.Expect(Compare(base, head, "").Changes).To(BeEmpty())
}
