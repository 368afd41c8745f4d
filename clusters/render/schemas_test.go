package render

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// crdWith is a CRD with a schema, written below openAPIV3Schema.
func crdWith(name, schema string) string {
	return `# a comment
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ` + name + `.example.com # and another
spec:
  group: example.com
  names: {kind: Widget, plural: ` + name + `}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      clientConfig: {service: {name: hook, namespace: system}}
      conversionReviewVersions: [v1]
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema: # of v1alpha1
` + indented(8, schema) + `
    served: true
    storage: false
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
    served: true
    storage: true
`
}

func indented(by int, text string) string {
	blanks := strings.Repeat(" ", by)
	return blanks + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+blanks)
}

func asJSON(manifest string) string {
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		panic(err)
	}
	return string(raw)
}

const schema = `description: |-
  A widget.

    It has "quotes", tabs	and colons: here.
properties:
  size:
    default: 1
    enum: [1, 2, 0x10, 1.0, 1e3, null]
    type: integer
type: object`

const hook = `apiVersion: v1
kind: Service
metadata: {name: hook, namespace: system}
`

// patching is a kustomization of x.yaml with a patch of all CRDs.
func patching(patch string) string {
	return "resources: [x.yaml]\npatches:\n- target: {kind: CustomResourceDefinition}\n  patch: |-\n" + indented(4, patch) + "\n"
}

// apart reports whether a folder was built without the schemas, and gives what came out either way.
func apart(dir string, o Options) (without bool, rendering, whole *Rendering, err, wholeErr error) {
	f := &folder{dir: dir, options: o}
	s := newSchemas()
	_, tried := f.render(s)
	rendering, err = Folder(dir, o)
	whole, wholeErr = f.render(nil)
	return tried == nil && len(s.taken) > 0, rendering, whole, err, wholeErr
}

// pointer is what Kustomize writes into some errors.
var pointer = regexp.MustCompile("0x[0-9a-f]+")

// expectNoDifference compares all that a rendering has.
func expectNoDifference(g *WithT, dir string, o Options) (without bool) {
	without, rendering, whole, err, wholeErr := apart(dir, o)
	if wholeErr != nil {
		g.Expect(err).To(HaveOccurred())
		g.Expect(pointer.ReplaceAllString(err.Error(), "")).To(Equal(pointer.ReplaceAllString(dir+" cannot be built: "+wholeErr.Error(), "")))
		return without
	}
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rendering.Files).To(Equal(whole.Files))
	g.Expect(rendering.Objects).To(HaveLen(len(whole.Objects)))
	for i, object := range rendering.Objects {
		g.Expect(object.Object).To(Equal(whole.Objects[i].Object))
		for _, fields := range [][]string{nil, {"spec", "versions", "0", "schema", "openAPIV3Schema", "properties"}} {
			g.Expect(object.Place(fields...)).To(Equal(whole.Objects[i].Place(fields...)))
		}
	}
	g.Expect(text(rendering)).To(Equal(text(whole)))
	return without
}

// What Kustomize is not given is not missed. A case has as well whether it is not given, for the other way proves
// nothing.
func TestABuildWithoutSchemasComesOutTheSame(t *testing.T) {
	x := crdWith("widgets", schema)
	flat := strings.ReplaceAll(x, "\n", "\r\n")
	for name, c := range map[string]struct {
		without bool
		files   map[string]string
	}{
		"a plain folder":               {true, map[string]string{"x.yaml": x}},
		"several documents":            {true, map[string]string{"x.yaml": "---\n" + x + "---\n" + configMap("a") + "--- # more\n" + crdWith("gadgets", schema) + "---\n# nothing\n---\n"}},
		"what Windows writes":          {true, map[string]string{"x.yaml": flat}},
		"the end of a document":        {false, map[string]string{"x.yaml": x + "...\n" + crdWith("gadgets", schema)}},
		"a List":                       {true, map[string]string{"x.yaml": "apiVersion: v1\nkind: List\nitems:\n-\n" + indented(2, x)}},
		"a List beside something else": {true, map[string]string{"x.yaml": configMap("a") + "---\napiVersion: v1\nkind: List\nitems:\n-\n" + indented(2, x)}},
		"two files alike":              {false, map[string]string{"x.yaml": x, "y.yaml": x}},
		"no name":                      {false, map[string]string{"x.yaml": strings.Replace(x, "  name: widgets.example.com", "  nome: x", 1)}},
		"left out by an annotation":    {true, map[string]string{"x.yaml": strings.Replace(x, "metadata:\n", "metadata:\n  annotations: {config.kubernetes.io/local-config: \"true\"}\n", 1) + "---\n" + configMap("a")}},
		"annotations that are empty":   {true, map[string]string{"x.yaml": strings.Replace(x, "metadata:\n", "metadata:\n  annotations: {}\n  labels: {}\n", 1)}},
		"an older CRD":                 {true, map[string]string{"x.yaml": strings.Replace(x, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1)}},

		"an anchor in the schema":         {false, map[string]string{"x.yaml": crdWith("widgets", "properties:\n  a: &a {type: string}\n  b: *a\n")}},
		"an anchor elsewhere":             {false, map[string]string{"x.yaml": strings.Replace(x, "scope: Namespaced", "scope: &scope Namespaced", 1)}},
		"a schema in one line":            {true, map[string]string{"x.yaml": strings.Replace(x, "openAPIV3Schema: # of v1alpha1\n"+indented(8, schema), "openAPIV3Schema: {type: object}", 1)}},
		"JSON":                            {false, map[string]string{"kustomization.yaml": "resources: [x.json]\n", "x.json": asJSON(x)}},
		"a field twice":                   {false, map[string]string{"x.yaml": crdWith("widgets", "type: object\ntype: object\n")}},
		"keys that are no texts":          {true, map[string]string{"x.yaml": crdWith("widgets", "properties: {1: {type: object}}\n")}},
		"a time":                          {true, map[string]string{"x.yaml": crdWith("widgets", "default: 2001-01-01\n")}},
		"a tag":                           {true, map[string]string{"x.yaml": crdWith("widgets", "default: !!binary aGVsbG8=\n")}},
		"texts of all styles":             {true, map[string]string{"x.yaml": crdWith("widgets", "a: >-\n  folded\n  text\n\n    more\nb: 'single\n\n  quotes'\nc: \"double\\n \\u00e9\"\nd: plain\n  and long\ne: |+\n  kept\n\nf: yes\ng: ~\nh: \"1\"\n")}},
		"a text that is indented less":    {false, map[string]string{"x.yaml": strings.Replace(crdWith("widgets", "description: \"one\nAND\"\ntype: object\n"), "        AND", "  two", 1)}},
		"a comment that is indented less": {false, map[string]string{"x.yaml": strings.Replace(crdWith("widgets", "description: one\n# comment\ntype: object\n"), "        # comment", "# comment", 1)}},
		"broken":                          {false, map[string]string{"x.yaml": x + "a: b: c\n"}},

		"labels and a namespace":   {true, map[string]string{"x.yaml": x + "---\n" + hook, "kustomization.yaml": "resources: [x.yaml]\nnamespace: other\nnamePrefix: a-\nlabels: [{pairs: {a: b}}]\nimages: [{name: a, newTag: b}]\n"}},
		"a patch of metadata":      {true, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]`)}},
		"a patch of the spec":      {true, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "move", "from": "/spec", "path": "/other"}, {"op": "move", "from": "/other", "path": "/spec"}]`)}},
		"a schema that is moved":   {false, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "move", "from": "/spec", "path": "/other"}]`)}},
		"a CRD that is deleted":    {true, map[string]string{"x.yaml": x + "---\n" + configMap("a"), "kustomization.yaml": patching("$patch: delete\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}")}},
		"a Component":              {true, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\ncomponents: [c]\n", "c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n", "c/p.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com, labels: {a: b}}\n"}},
		"a ConfigMap of literals":  {true, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\nconfigMapGenerator: [{name: a, literals: [a=b]}]\n"}},
		"a ConfigMap that has it":  {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\nconfigMapGenerator: [{name: a, files: [x.yaml]}]\n"}},
		"a Secret that has it":     {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\nsecretGenerator: [{name: a, files: [x.yaml]}]\n"}},
		"a Secret with a variable": {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\nsecretGenerator: [{name: a, envs: [e]}]\n", "e": "a=b\n"}},
		"a base that looks inside": {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml, b]\n", "b/kustomization.yaml": "resources: [c.yaml]\ntransformers: [t.yaml]\n", "b/c.yaml": configMap("c"),
			"b/t.yaml": "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {a: b}\nfieldSpecs: [{path: metadata/labels, create: true}]\n"}},

		"a schema that is patched":                  {false, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "other"}]`)}},
		"a schema that is patched out and in":       {false, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties", "value": {}}, {"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties"}]`)}},
		"one that is patched in a roundabout way":   {false, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "add", "path": "/spec/\u0076ersions/0/schema/openAPIV3Schema/properties", "value": {}}, {"op": "remove", "path": "/spec/\u0076ersions/0/schema/openAPIV3Schema/properties"}]`)}},
		"one that is patched by a file":             {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\npatches: [{path: p.yaml, target: {kind: CustomResourceDefinition}}]\n", "p.yaml": `[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties", "value": {}}, {"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties"}]`}},
		"a version that is patched away":            {false, map[string]string{"x.yaml": x, "kustomization.yaml": patching(`[{"op": "remove", "path": "/spec/versions/0"}]`)}},
		"a label in a schema":                       {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\nlabels: [{pairs: {a: b}, fields: [{path: \"spec/versions[]/schema/openAPIV3Schema/properties\"}]}]\n"}},
		"a replacement that looks into a schema":    {false, map[string]string{"x.yaml": x + "---\n" + configMap("a"), "kustomization.yaml": "resources: [x.yaml]\nreplacements: [{source: {kind: CustomResourceDefinition, fieldPath: spec.versions.0.schema.openAPIV3Schema.type}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]}]\n"}},
		"a patch of a file that is not there":       {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\npatches: [{path: none.yaml}]\n"}},
		"a field that kustomizations do not have":   {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml]\nnone: {}\n"}},
		"a resource beside it that is not there":    {false, map[string]string{"x.yaml": x, "kustomization.yaml": "resources: [x.yaml, none.yaml]\n"}},
		"a resource beside it that has no manifest": {false, map[string]string{"x.yaml": x, "y.yaml": "a: b\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(expectNoDifference(g, folderOf(t, c.files), Options{Labels: map[string]string{"team": "a"}})).To(Equal(c.without))
		})
	}
}

// Every folder of the repository that can be built is: its own manifests, the examples, and the pull requests of the golden
// repository.
func TestNoFolderHereComesOutAnyOtherWithoutSchemas(t *testing.T) {
	without := 0
	for _, root := range []string{"../../test/golden/testdata", "../../examples", "../../policies", "../../clusters"} {
		g := NewWithT(t)
		g.Expect(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if manifests, err := filepath.Glob(filepath.Join(path, "*.y*ml")); err != nil || len(manifests) == 0 {
				return err
			}
			if expectNoDifference(NewWithT(t), path, Options{}) {
				without++
			}
			return nil
		})).To(Succeed())
	}
	NewWithT(t).Expect(without).To(BeNumerically(">", 20), "folders with CRDs whose schemas Kustomize did not get")
}

// Whatever a file and a kustomization say.
func FuzzABuildWithoutSchemas(f *testing.F) {
	f.Add(crdWith("widgets", schema), "labels: [{pairs: {a: b}}]\n")
	f.Add(crdWith("widgets", "description: \"one\n  two\"\n"), "namespace: a\n")
	f.Add(configMap("a")+"---\n"+crdWith("widgets", schema), "configMapGenerator: [{name: a, files: [x.yaml]}]\n")
	f.Add(crdWith("widgets", schema), strings.TrimPrefix(patching(`[{"op": "move", "from": "/spec", "path": "/other"}]`), "resources: [x.yaml]\n"))
	f.Fuzz(func(t *testing.T, manifest, kustomization string) {
		if strings.Contains(kustomization, "//") || strings.Contains(kustomization, "git") {
			return // nothing is fetched
		}
		expectNoDifference(NewWithT(t), folderOf(t, map[string]string{"x.yaml": manifest, "kustomization.yaml": "resources: [x.yaml]\n" + kustomization}), Options{})
	})
}

func TestAnObjectThatLacksNothingStaysAsItIs(t *testing.T) {
	g := NewWithT(t)
	s := newSchemas()
	g.Expect(string(s.takeOut([]byte(configMap("a"))))).To(Equal(configMap("a")))
	short := string(s.takeOut([]byte(crdWith("widgets", schema))))
	g.Expect(strings.Count(short, s.mark)).To(Equal(2))
	g.Expect(short).To(And(ContainSubstring("# and another"), Not(ContainSubstring("properties")), ContainSubstring("    storage: true\n")))
	g.Expect(s.mark).NotTo(Equal(newSchemas().mark), "no file can name it")

	object := map[string]any{"spec": map[string]any{"versions": []any{map[string]any{"schema": map[string]any{schemaField: map[string]any{s.mark + "9": "taken"}}}}}}
	g.Expect(s.putBack(object, []byte(s.mark))).To(BeFalse(), "there is no such schema")
}
