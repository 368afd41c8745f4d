package refusal_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crddiff/refusal"
)

// widgets is a CRD whose versions have these schemas below spec, the last of them stored.
func widgets(schemas ...string) *apiextensionsv1.CustomResourceDefinition {
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
`
	for i, schema := range schemas {
		name, storage := []string{"v1alpha1", "v1beta1", "v1"}[3-len(schemas)+i], "false"
		if i == len(schemas)-1 {
			storage = "true"
		}
		text += "  - {name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object, properties: {spec: " + schema + "}}}}\n"
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		panic(err)
	}
	return crd
}

func changed(crd *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	change(crd)
	return crd
}

const (
	fine       = "{type: object, properties: {size: {type: integer}}}"
	finer      = "{type: object, properties: {size: {type: integer}, color: {type: string}}}"
	typeless   = "{type: object, properties: {size: {minimum: 1}}}"
	noCEL      = `{type: object, properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: "self.sise > 1"}]}`
	costly     = `{type: object, properties: {a: {type: array, items: {type: array, items: {type: string}}}}, x-kubernetes-validations: [{rule: "self.a.all(x, x.all(y, self.a.all(z, z.all(w, w.matches(y)))))"}]}`
	badDefault = "{type: object, properties: {size: {type: integer, default: large}}}"
)

type crd = *apiextensionsv1.CustomResourceDefinition

func TestWhatTheAPIServerWouldRefuse(t *testing.T) {
	unlabelled := func(c crd) { c.Labels = map[string]string{"-": "x"} }
	preserving := func(c crd) { c.Spec.PreserveUnknownFields = true }
	managed := func(c crd) {
		c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1"}}
	}
	numbered := func(version string) func(crd) { return func(c crd) { c.ResourceVersion = version } }
	owned := func(c crd) { c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap"}} }
	finalized := func(c crd) { c.Finalizers = []string{"foo bar"} }
	webhook := func(bundle string) func(crd) {
		return func(c crd) {
			url := "https://example.com/"
			c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: "Webhook", Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: []byte(bundle)},
			}}
		}
	}
	protected := func(approved string) func(crd) {
		return func(c crd) {
			c.Spec.Group, c.Name = "example.k8s.io", "widgets.example.k8s.io"
			if approved != "" {
				c.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: approved}
			}
		}
	}
	for name, c := range map[string]struct {
		base, head crd
		// path and said are of the first refusal; empty if there is to be none.
		path, said string
		version    string
		known      bool
	}{
		"nothing":                             {head: widgets(fine)},
		"a field comes":                       {base: widgets(fine), head: widgets(finer)},
		"a schema that is not structural":     {head: widgets(fine, typeless), path: "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[size].type", version: "v1", said: "must not be empty for specified object fields"},
		"the only schema is not structural":   {head: widgets(typeless), path: "spec.validation.openAPIV3Schema.properties[spec].properties[size].type", said: "must not be empty"},
		"a rule in CEL that does not compile": {base: widgets(fine), head: widgets(noCEL), path: "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule", said: "undefined field 'sise'"},
		"a rule in CEL that costs too much":   {base: widgets(fine), head: widgets(costly), path: "spec.validation.openAPIV3Schema", said: "estimated rule cost total for entire OpenAPIv3 schema exceeds budget"},
		"a default of another type":           {base: widgets(fine), head: widgets(badDefault), path: "spec.validation.openAPIV3Schema.properties[spec].properties[size].default", said: "must be of type integer"},
		"a label that is none":                {base: widgets(fine), head: changed(widgets(fine), unlabelled), path: "metadata.labels", said: "name part"},
		"an approval that goes":               {base: changed(widgets(fine), protected("https://github.com/kubernetes/enhancements/pull/1111")), head: changed(widgets(fine), protected("")), path: "metadata.annotations[api-approved.kubernetes.io]", said: "protected groups must have approval"},
		"an approval that was never there":    {base: changed(widgets(fine), protected("")), head: changed(widgets(finer), protected(""))},
		"a CA that is none, for a CRD that is there": {
			base: widgets(fine), head: changed(widgets(fine), webhook("\n")), path: "spec.conversion.webhookClientConfig.caBundle", said: "unable to load root certificates",
		},
		"a CA that is none, for a new CRD": {head: changed(widgets(fine), webhook("\n"))},
		"unknown fields kept in a new CRD": {head: changed(widgets(fine), preserving), path: "spec.preserveUnknownFields", said: "cannot set to true"},
		// What the API server tolerates in a CRD that exists, and what is no worse than it was.
		"unknown fields kept as before": {base: changed(widgets(fine), preserving), head: changed(widgets(finer), preserving)},
		"a schema that was not structural, and another comes": {
			base: widgets(typeless), head: widgets(fine, typeless), known: true, version: "v1",
			path: "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[size].type", said: "must not be empty",
		},
		"a rule in CEL that costs too much, as before":            {base: widgets(costly), head: changed(widgets(costly), func(c crd) { c.Spec.Names.ShortNames = []string{"w"} }), path: "spec.validation.openAPIV3Schema", said: "estimated rule cost total", known: true},
		"a default of another type, as before":                    {base: widgets(badDefault), head: changed(widgets(badDefault), func(c crd) { c.Spec.Names.ShortNames = []string{"w"} }), path: "spec.validation.openAPIV3Schema.properties[spec].properties[size].default", said: "must be of type integer", known: true},
		"a default of another type, in one more version":          {base: widgets(badDefault), head: widgets(badDefault, badDefault), path: "spec.validation.openAPIV3Schema.properties[spec].properties[size].default", said: "must be of type integer"},
		"a default of another type, in another place than it was": {base: widgets(fine, badDefault), head: widgets(badDefault), path: "spec.validation.openAPIV3Schema.properties[spec].properties[size].default", said: "must be of type integer", known: true},
		// What has a name of its own elsewhere.
		"the kind changes":          {base: widgets(fine), head: changed(widgets(fine), func(c crd) { c.Spec.Names.Kind = "Gadget" })},
		"the name is another":       {head: changed(widgets(fine), func(c crd) { c.Name = "widgetz.example.com" })},
		"what is stored is dropped": {base: widgets(fine, fine), head: widgets(fine)},
		// What the API server puts aside, or in.
		"a status from a cluster": {head: changed(widgets(fine), func(c crd) {
			c.Status.StoredVersions, c.Namespace, c.Generation = []string{"v0"}, "default", 7
		})},
		// What a manifest has from a cluster, and metadata for an update.
		"managed fields":                  {base: widgets(fine), head: changed(widgets(fine), managed), path: "metadata.managedFields", said: "must be nil"},
		"managed fields, of a new CRD":    {head: changed(widgets(fine), managed), path: "metadata.managedFields", said: "must be nil"},
		"managed fields, as before":       {base: changed(widgets(fine), managed), head: changed(widgets(finer), managed), path: "metadata.managedFields", said: "must be nil", known: true},
		"a uid":                           {base: widgets(fine), head: changed(widgets(fine), func(c crd) { c.UID = "abc" }), path: "metadata.uid", said: "the API server sets it"},
		"a resource version":              {base: widgets(fine), head: changed(widgets(fine), numbered("1")), path: "metadata.resourceVersion", said: "takes no other than the last one"},
		"a resource version of a new CRD": {head: changed(widgets(fine), numbered("1"))},
		"a resource version, as before":   {base: changed(widgets(fine), numbered("1")), head: changed(widgets(finer), numbered("2")), path: "metadata.resourceVersion", said: "takes no other", known: true},
		"an owner without a name":         {base: widgets(fine), head: changed(widgets(fine), owned), path: "metadata.ownerReferences[0].name", said: "must not be empty"},
		"a finalizer that is no name":     {base: widgets(fine), head: changed(widgets(fine), finalized), path: "metadata.finalizers", said: "name part"},
		"the finalizer is of a new CRD":   {head: changed(widgets(fine), finalized), path: "metadata.finalizers", said: "name part"},
		"the finalizer was there already": {base: changed(widgets(fine), finalized), head: changed(widgets(finer), finalized), path: "metadata.finalizers", said: "name part", known: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := refusal.Of(c.base, c.head)
			if c.path == "" {
				g.Expect(got).To(BeEmpty())
				return
			}
			g.Expect(got).NotTo(BeEmpty())
			g.Expect(got[0]).To(And(HaveField("Path", c.path), HaveField("Said", ContainSubstring(c.said)), HaveField("Version", c.version), HaveField("Known", c.known)), "%+v", got)
			g.Expect(len(got[0].Said)).To(BeNumerically("<", 310))
		})
	}
}

func TestAskingChangesNothing(t *testing.T) {
	g := NewWithT(t)
	base, head := widgets(badDefault), widgets(badDefault, noCEL)
	first := refusal.Of(base, head)
	g.Expect(base).To(Equal(widgets(badDefault)))
	g.Expect(head).To(Equal(widgets(badDefault, noCEL)))
	g.Expect(refusal.Of(base, head)).To(Equal(first))
}

// A sentence that repeats a schema, or the drawing with which CEL points at a mistake, is of no use in a comment.
func TestWhatIsSaidFitsIntoALine(t *testing.T) {
	g := NewWithT(t)
	for _, r := range refusal.Of(nil, widgets(fine, strings.ReplaceAll(noCEL, "self.sise", "self."+strings.Repeat("x", 500)))) {
		g.Expect(r.Said).NotTo(ContainSubstring("\n"))
		g.Expect([]rune(r.Said)).To(HaveLen(301))
	}
}

func TestFieldsThatAreNotDeclared(t *testing.T) {
	g := NewWithT(t)
	one, two := widgets(fine), widgets(fine, fine)
	in := func(i string) string {
		return "spec.versions[" + i + "].schema.openAPIV3Schema.properties.size.nullabel"
	}
	g.Expect(refusal.Undeclared(one, one, nil, nil)).To(BeEmpty())
	g.Expect(refusal.Undeclared(nil, one, nil, []string{"spec.foo", in("0")})).To(Equal([]refusal.Refusal{
		{Path: "spec.foo", Said: "field not declared in schema"}, {Path: in("0"), Version: "v1", Said: "field not declared in schema"},
	}))
	g.Expect(refusal.Undeclared(one, two, []string{in("0")}, []string{in("0"), in("1")})).To(HaveExactElements(
		And(HaveField("Version", "v1beta1"), HaveField("Known", false)), And(HaveField("Version", "v1"), HaveField("Known", true)),
	), "a version has another place, and is the same")
	g.Expect(refusal.Undeclared(one, one, []string{"spec.foo"}, []string{"spec.bar", "spec.foo"})).To(HaveExactElements(HaveField("Known", false), HaveField("Known", true)))
}

// Whatever could be refused makes a difference; what only a cluster counts makes none.
func TestWhatHasToBeAskedAbout(t *testing.T) {
	for name, change := range map[string]func(crd){
		"spec": func(c crd) { c.Spec.Names.ShortNames = []string{"w"} }, "labels": func(c crd) { c.Labels = map[string]string{"a": "b"} },
		"annotations": func(c crd) { c.Annotations = map[string]string{"a": "b"} }, "owners": func(c crd) { c.OwnerReferences = make([]metav1.OwnerReference, 1) },
		"finalizers": func(c crd) { c.Finalizers = []string{"a"} }, "uid": func(c crd) { c.UID = "a" }, "resourceVersion": func(c crd) { c.ResourceVersion = "1" },
		"managedFields": func(c crd) { c.ManagedFields = make([]metav1.ManagedFieldsEntry, 1) },
	} {
		NewWithT(t).Expect(refusal.Same(widgets(fine), changed(widgets(fine), change))).To(BeFalse(), name)
	}
	NewWithT(t).Expect(refusal.Same(widgets(fine), changed(widgets(fine), func(c crd) { c.Generation = 3 }))).To(BeTrue())
}
