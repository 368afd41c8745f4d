package manifests_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/manifests"
)

// widgets leave v1alpha1, which knows the field old; v1 knows the field young, and another default of mode.
const widgets = `
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
    - name: v1alpha1
      served: true
      storage: false
      deprecated: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
        size: {type: integer}, color: {type: string}, old: {type: string}, parts: {type: array, items: {type: string}},
        owner: {type: string, nullable: true}, shelves: {type: array, items: {type: string, default: low}},
        notes: {type: object, additionalProperties: {type: string, default: a}},
        limits: {type: object, properties: {mode: {type: string, default: soft}, most: {type: integer}}}}}}}}
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
        size: {type: integer}, color: {type: string, enum: [green, red]}, young: {type: string}, parts: {type: array, items: {type: string}},
        owner: {type: string}, shelves: {type: array, items: {type: string, default: high}},
        notes: {type: object, additionalProperties: {type: string, default: b}},
        limits: {type: object, properties: {mode: {type: string, default: hard}, most: {type: integer}}}}}}}}
`

func widgetCRD(t testing.TB, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"}}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(widgets), crd)).To(Succeed())
	for _, change := range changes {
		change(crd)
	}
	return crd
}

func planFor(t *testing.T, changes ...func(*apiextensionsv1.CustomResourceDefinition)) manifests.Plan {
	t.Helper()
	target, err := manifests.TargetOf(widgetCRD(t, changes...))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return manifests.Plan{target.Kind(): target}
}

// said is what a hit says in a line.
func said(hits []manifests.Reference) []string {
	var lines []string
	for _, h := range hits {
		line := h.Place.String() + " " + string(h.Role) + " " + h.Object()
		if h.Why != "" {
			line += ": " + h.Why
		}
		lines = append(lines, line)
	}
	return lines
}

const garden = "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: garden}\n"

func TestRewriteTurnsWhatNamesTheOldVersion(t *testing.T) {
	const begin, middle, end = "# why\n---\n", "kind: Widget # a\nmetadata:\n    name:   garden\n", "spec: {size: 3}   # b\n\n\n"
	for name, c := range map[string]struct {
		before, after string
		hits          []string
	}{
		"an object": {
			begin + "apiVersion: example.com/v1alpha1 # old\n" + middle + end, begin + "apiVersion: example.com/v1 # old\n" + middle + end,
			[]string{"f.yaml:3 object Widget garden"},
		},
		"in double quotes": {
			"apiVersion: \"example.com/v1alpha1\"\n" + middle, "apiVersion: \"example.com/v1\"\n" + middle,
			[]string{"f.yaml:1 object Widget garden"},
		},
		"in single quotes, after the kind, with a tag": {
			middle + "apiVersion:   !!str 'example.com/v1alpha1'\n" + end, middle + "apiVersion:   !!str 'example.com/v1'\n" + end,
			[]string{"f.yaml:4 object Widget garden"},
		},
		"line breaks of Windows, and a mark at the beginning": {
			"\ufeff" + strings.ReplaceAll(garden, "\n", "\r\n"), "\ufeff" + strings.ReplaceAll(strings.ReplaceAll(garden, "v1alpha1", "v1"), "\n", "\r\n"),
			[]string{"f.yaml:1 object Widget garden"},
		},
		"no line break at the end": {
			"kind: Widget\napiVersion: example.com/v1alpha1", "kind: Widget\napiVersion: example.com/v1",
			[]string{"f.yaml:2 object Widget"},
		},
		"JSON": {
			"{\"kind\":\"Widget\",\t\"apiVersion\":\"example.com/v1alpha1\"}", "{\"kind\":\"Widget\",\t\"apiVersion\":\"example.com/v1\"}",
			[]string{"f.yaml:1 object Widget"},
		},
		"behind letters of several bytes": {
			"{x: \"žluťoučký 🐎\", apiVersion: example.com/v1alpha1, kind: Widget}", "{x: \"žluťoučký 🐎\", apiVersion: example.com/v1, kind: Widget}",
			[]string{"f.yaml:1 object Widget"},
		},
		"several documents, one of them of another kind": {
			garden + "---\napiVersion: example.com/v1alpha1\nkind: Gadget\n---\n" + garden, strings.ReplaceAll(garden, "v1alpha1", "v1") + "---\napiVersion: example.com/v1alpha1\nkind: Gadget\n---\n" + strings.ReplaceAll(garden, "v1alpha1", "v1"),
			[]string{"f.yaml:1 object Widget garden", "f.yaml:8 object Widget garden"},
		},
		"a List": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: example.com/v1alpha1\n  kind: Widget\n- {kind: Widget, apiVersion: example.com/v1}\n",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: example.com/v1\n  kind: Widget\n- {kind: Widget, apiVersion: example.com/v1}\n",
			[]string{"f.yaml:4 object Widget"},
		},
		"a version that the CRD does not list any more": {
			"apiVersion: example.com/v1alpha0\nkind: Widget\n", "apiVersion: example.com/v1\nkind: Widget\n",
			[]string{"f.yaml:1 object Widget"},
		},
		"beside a broken document": {
			"a: {\n---\n" + garden, "a: {\n---\n" + strings.ReplaceAll(garden, "v1alpha1", "v1"),
			[]string{"f.yaml:3 object Widget garden"},
		},
		"a field that neither version knows": {
			garden + "spec: {typo: 1}\n", strings.ReplaceAll(garden, "v1alpha1", "v1") + "spec: {typo: 1}\n",
			[]string{"f.yaml:1 object Widget garden"},
		},
		"a health check of Flux": {
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  healthChecks:\n    - kind: Widget\n      apiVersion: example.com/v1alpha1\n      name: garden\n      namespace: green\n",
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  healthChecks:\n    - kind: Widget\n      apiVersion: example.com/v1\n      name: garden\n      namespace: green\n",
			[]string{"f.yaml:6 health check Widget green/garden"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan := planFor(t)
			after, hits, err := rewrite("f.yaml", []byte(c.before), plan)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(said(hits)).To(Equal(c.hits))
			g.Expect(string(after)).To(Equal(c.after))

			again, hits, err := rewrite("f.yaml", after, plan)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(hits).To(BeEmpty(), "once is enough")
			g.Expect(again).To(Equal(after))
		})
	}
}

// rewrite is Rewrite of one file.
func rewrite(file string, content []byte, plan manifests.Plan) ([]byte, []manifests.Reference, error) {
	r := manifests.Rewrite([]manifests.File{{Name: file, Content: content}}, plan)[0]
	if r.Changed == nil {
		return content, r.References, r.Err
	}
	return r.Changed, r.References, r.Err
}

func TestRewriteLeavesToAPersonWhatItCannotKnow(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		change  func(*apiextensionsv1.CustomResourceDefinition)
		says    string
	}{
		"a field that would be dropped": {content: garden + "spec: {old: x}\n", says: "f.yaml:1 object Widget garden: v1 does not know spec.old, and would drop it without a word"},
		"another default":               {content: garden + "spec: {limits: {most: 1}}\n", says: `f.yaml:1 object Widget garden: spec.limits.mode is left out, which means "soft" at v1alpha1 and "hard" at v1; write down the one that you want`},
		"null, for which the API server puts in another default": {
			content: garden + "spec: {limits: {mode: null}}\n",
			says:    `f.yaml:1 object Widget garden: spec.limits.mode is null, which means "soft" at v1alpha1 and "hard" at v1; write down the one that you want`,
		},
		"null in a list, for which the API server puts in another default": {
			content: garden + "spec: {shelves: [null]}\n",
			says:    `f.yaml:1 object Widget garden: spec.shelves[0] is null, which means "low" at v1alpha1 and "high" at v1; write down the one that you want`,
		},
		"null in a map, for which the API server puts in another default": {
			content: garden + "spec: {notes: {door: null}}\n",
			says:    `f.yaml:1 object Widget garden: spec.notes.door is null, which means "a" at v1alpha1 and "b" at v1; write down the one that you want`,
		},
		"null that only the old version keeps": {
			content: garden + "spec: {owner: null}\n",
			says:    `f.yaml:1 object Widget garden: spec.owner is null, which means null at v1alpha1 and nothing at v1; write down the one that you want`,
		},
		"a word that is not allowed now": {content: garden + "spec: {color: blue}\n", says: `f.yaml:1 object Widget garden: the API server would refuse it at v1: spec.color: Unsupported value: "blue": supported values: "green", "red"`},
		"a text that does not match now": {
			content: garden + "spec: {color: green}\n", says: "f.yaml:1 object Widget garden: the API server would refuse it at v1: spec.color: Invalid value: \"green\": spec.color in body should match '^r'",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties["color"] = apiextensionsv1.JSONSchemaProps{Type: "string", Pattern: "^r"}
			},
		},
		"another type": {
			content: garden + "spec: {size: 3}\n", says: `f.yaml:1 object Widget garden: the API server would refuse it at v1: spec.size: Invalid value: "integer": spec.size in body must be of type string: "integer"`,
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			},
		},
		"a field that is required now": {
			content: garden + "spec: {}\n", says: "f.yaml:1 object Widget garden: the API server would refuse it at v1: spec.young: Required value",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				spec := crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"]
				spec.Required = []string{"young"}
				crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"] = spec
			},
		},
		"conversion by a webhook": {
			content: garden, says: "f.yaml:1 object Widget garden: widgets.example.com is converted by a webhook, so its fields may have other names at v1; take it from the cluster with `kubectl get widgets.v1.example.com -o yaml`, or change it by hand",
			change: func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
			},
		},
		"encrypted by SOPS": {content: garden + "sops: {mac: 'ENC[AES256_GCM,data:x]'}\n", says: "f.yaml:1 object Widget garden: the file is encrypted by SOPS, whose checksum would no longer be right; change it with `sops edit`"},
		"an anchor":         {content: "apiVersion: &v example.com/v1alpha1\nkind: Widget\nspec: {color: *v}\n", says: "f.yaml:1 object Widget: the version is shared with other places by a YAML anchor; change it by hand, for all of them"},
		"an object that others are made of": {
			content: "apiVersion: v1\nkind: List\nitems:\n- &a\n  kind: Widget\n  apiVersion: example.com/v1alpha1\n",
			says:    "f.yaml:6 object Widget: the version is shared with other places by a YAML anchor; change it by hand, for all of them",
		},
		"a block":   {content: "apiVersion: >-\n  example.com/v1alpha1\nkind: Widget\n", says: "f.yaml:1 object Widget: it is written in a way that cannot be changed safely; change it by hand"},
		"an escape": {content: "{\"apiVersion\": \"example.com\\/v1alpha1\", \"kind\": \"Widget\"}", says: "f.yaml:1 template Widget: the file is not YAML; look at it by hand"},
		"inside of another object": {
			content: "apiVersion: example.org/v1\nkind: Composition\nspec:\n  resources:\n  - base: {apiVersion: example.com/v1alpha1, kind: Widget}\n",
			says:    "f.yaml:5 inside Widget: it is inside of a Composition (spec.resources.base), which may give it a meaning of its own",
		},
		"inside of a text": {
			content: "apiVersion: v1\nkind: ConfigMap\ndata:\n  garden.yaml: |\n    # one\n    apiVersion: example.com/v1alpha1\n    kind: Widget\n",
			says:    "f.yaml:6 inside Widget: it is inside of a ConfigMap (data.garden.yaml), which may give it a meaning of its own",
		},
		"a template": {
			content: "{{- if .Values.garden }}\napiVersion: example.com/v1alpha1\nkind: Widget\nmetadata:\n  name: garden\n{{- end }}\n",
			says:    "f.yaml:2 template Widget garden: a template; change it by hand, and look at the fields it sets",
		},
		"a template that can be read as YAML": {
			content: "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata:\n  name: {{ .Release.Name }}\n",
			says:    "f.yaml:1 template Widget: a template; change it by hand, and look at the fields it sets",
		},
		"a broken file": {
			content: "kind: Widget\napiVersion: example.com/v1alpha1\nspec: [\n", says: "f.yaml:2 template Widget: the file is not YAML; look at it by hand",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			change := c.change
			if change == nil {
				change = func(*apiextensionsv1.CustomResourceDefinition) {}
			}
			after, hits, err := rewrite("f.yaml", []byte(c.content), planFor(t, change))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(said(hits)).To(Equal([]string{c.says}))
			g.Expect(string(after)).To(Equal(c.content))
		})
	}
}

func TestRewriteLeavesOthersAlone(t *testing.T) {
	for name, content := range map[string]string{
		"the storage version":                     "apiVersion: example.com/v1\nkind: Widget\n",
		"a served version that is not deprecated": "apiVersion: example.com/v1beta1\nkind: Widget\n",
		"another group":                           "apiVersion: example.org/v1alpha1\nkind: Widget\n",
		"another kind":                            "apiVersion: example.com/v1alpha1\nkind: WidgetPolicy\n",
		"a comment":                               "# apiVersion: example.com/v1alpha1\n# kind: Widget\na: b\n",
		"Argo CD's ignoreDifferences":             "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {ignoreDifferences: [{group: example.com, kind: Widget}]}\n",
		"something that is not text":              "apiVersion: example.com/v1alpha1\nkind: Widget\x00\n",
		"nothing":                                 "",
		"a template without a kind":               "{{ x }}\napiVersion: example.com/v1alpha1\nkind: {{ .kind }}\n",
		"a word that is a document by itself":     "Widget apiVersion\n---\nkind: Widget\nnote: apiVersion\n",
		"aliases that lead in a circle":           "a: &a\n  <<: *a\n  kind: Widget\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			after, hits, err := rewrite("f.yaml", []byte(content), planFor(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
				beta := crd.Spec.Versions[1].DeepCopy()
				beta.Name, beta.Storage = "v1beta1", false
				crd.Spec.Versions = append(crd.Spec.Versions, *beta)
			}))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(hits).To(BeEmpty())
			g.Expect(string(after)).To(Equal(content))
		})
	}
}

func TestNothingLeavesTheStorageVersion(t *testing.T) {
	g := NewWithT(t)
	target, err := manifests.TargetOf(widgetCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Deprecated = true }), "v1")
	g.Expect(err).NotTo(HaveOccurred())
	_, hits, err := rewrite("f.yaml", []byte("apiVersion: example.com/v1\nkind: Widget\n"), manifests.Plan{target.Kind(): target})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hits).To(BeEmpty())
}
