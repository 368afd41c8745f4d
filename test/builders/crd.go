// Package builders makes CustomResourceDefinitions and thousands of objects for tests, and takes a CRD through its
// versions' life as teams do: add a version, flip the storage, stop serving the old one, remove it.
//
//	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
//	builders.Install(ctx, cp.Config, crd)
//	builders.CreateObjects(ctx, cp.Config, builders.Resource(crd, "v1alpha1"), "default", 1000)
//	builders.FlipStorage(ctx, cp.Config, crd.Name, "v1")
//
// Tests that share a control plane run in parallel as long as each has its own group.
package builders

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// CRDBuilder collects what a CRD is to be. Its methods change it and return it; start with CRD, end with Build.
type CRDBuilder struct {
	crd *apiextensionsv1.CustomResourceDefinition
}

// CRD begins a namespaced CRD with one version v1, served and stored. The plural is lower-case English with an s at its
// end: "widgets" gets the singular "widget" and the kind Widget.
func CRD(group, plural string) *CRDBuilder {
	singular := strings.TrimSuffix(plural, "s")
	kind := strings.ToUpper(singular[:1]) + singular[1:]
	b := &CRDBuilder{crd: &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: singular, Kind: kind, ListKind: kind + "List",
			},
		},
	}}
	return b.Versions("v1")
}

// Versions replaces the versions, all served and with the same schema; the last one is the storage version.
func (b *CRDBuilder) Versions(names ...string) *CRDBuilder {
	b.crd.Spec.Versions = nil
	for _, name := range names {
		b.crd.Spec.Versions = append(b.crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name:   name,
			Served: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: objectSchema()},
		})
	}
	return b.Storage(names[len(names)-1])
}

// Storage makes this the storage version instead.
func (b *CRDBuilder) Storage(version string) *CRDBuilder {
	setStorage(b.crd, version)
	return b
}

// Unserved stops serving a version; its objects stay stored and convertible.
func (b *CRDBuilder) Unserved(version string) *CRDBuilder {
	for i := range b.crd.Spec.Versions {
		if b.crd.Spec.Versions[i].Name == version {
			b.crd.Spec.Versions[i].Served = false
		}
	}
	return b
}

// Schema gives a version the schema that a text in YAML says.
func (b *CRDBuilder) Schema(version, text string) *CRDBuilder {
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(text), props); err != nil {
		panic(err) // the text is the test's own
	}
	for i := range b.crd.Spec.Versions {
		if b.crd.Spec.Versions[i].Name == version {
			b.crd.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props}
		}
	}
	return b
}

// ClusterScoped makes the objects belong to no namespace.
func (b *CRDBuilder) ClusterScoped() *CRDBuilder {
	b.crd.Spec.Scope = apiextensionsv1.ClusterScoped
	return b
}

// OptedIn adds the label that asks Moult to migrate the CRD.
func (b *CRDBuilder) OptedIn() *CRDBuilder {
	return b.Label(v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue)
}

// Label adds a label to the CRD.
func (b *CRDBuilder) Label(key, value string) *CRDBuilder {
	metav1.SetMetaDataLabel(&b.crd.ObjectMeta, key, value)
	return b
}

// Annotation adds an annotation to the CRD.
func (b *CRDBuilder) Annotation(key, value string) *CRDBuilder {
	metav1.SetMetaDataAnnotation(&b.crd.ObjectMeta, key, value)
	return b
}

// WithStatus gives the present versions a status subresource; call it after Versions.
func (b *CRDBuilder) WithStatus() *CRDBuilder {
	for i := range b.crd.Spec.Versions {
		b.crd.Spec.Versions[i].Subresources = &apiextensionsv1.CustomResourceSubresources{
			Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		}
	}
	return b
}

// ConversionWebhook has the server at this https URL convert between the versions. The CA bundle is PEM.
func (b *CRDBuilder) ConversionWebhook(url string, caBundle []byte) *CRDBuilder {
	b.crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: caBundle},
			ConversionReviewVersions: []string{"v1"},
		},
	}
	return b
}

// Build returns a copy, so that one builder can make several CRDs.
func (b *CRDBuilder) Build() *apiextensionsv1.CustomResourceDefinition { return b.crd.DeepCopy() }

// Resource is the CRD's resource at a version.
func Resource(crd *apiextensionsv1.CustomResourceDefinition, version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
}

// uniqueGroups counts the groups handed out, because -count runs a test of the same name again on the same server.
var uniqueGroups atomic.Int64

// UniqueGroup is an API group that no other test gets, with the test's name in it: not in this process, and not in another
// one that shares its control plane.
func UniqueGroup(t testing.TB) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimPrefix(t.Name(), "Test")))
	readable = strings.Trim(readable[:min(len(readable), 34)], "-")
	return fmt.Sprintf("%s%s%d.example.com", strings.TrimLeft("t-"+readable, "-"), process, uniqueGroups.Add(1))
}

// process is the part of a group's name that says which process's tests have it.
var process = fmt.Sprintf("-p%d-", os.Getpid())

// OfThisProcess is whether UniqueGroup has handed out the group in this process.
func OfThisProcess(group string) bool {
	return strings.HasPrefix(group, "t-") && strings.Contains(group, process)
}

func setStorage(crd *apiextensionsv1.CustomResourceDefinition, version string) {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
	}
}

// objectSchema has typed fields of each sort, so that pruning, validation and field ownership are at work.
func objectSchema() *apiextensionsv1.JSONSchemaProps {
	type props = map[string]apiextensionsv1.JSONSchemaProps
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	flag := apiextensionsv1.JSONSchemaProps{Type: "boolean"}
	parts := apiextensionsv1.JSONSchemaProps{
		Type:  "array",
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text},
	}
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{
		"spec":   {Type: "object", Properties: props{"size": number, "color": text, "parts": parts, "payload": text, "enabled": flag}},
		"status": {Type: "object", Properties: props{"phase": text, "observedSize": number}},
	}}
}
