package render

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// decrypted is a kustomization with the Secrets and ConfigMaps that its generators decrypt, if they do nothing else. SOPS encrypts values and
// leaves all else as it is. So Kustomize gets these objects with encrypted values, and does to them what it does to others.
// https://github.com/viaduct-ai/kustomize-sops
func (o *overlay) decrypted(file string, content []byte) ([]byte, error) {
	var k types.Kustomization
	if o.inflater == nil || o.omitted.generators || k.Unmarshal(content) != nil {
		return content, nil //nolint:nilerr // Flux runs no plug-ins; what is no kustomization, Kustomize reports
	}
	k.FixKustomization() // older fields become newer ones
	dir := filepath.Dir(file)
	o.builtBy = append(o.builtBy, builtBy{dir, k})
	var created, merged []string
	for _, name := range k.Generators {
		objects := o.sealedBy(dir, name)
		if objects == nil {
			return content, nil
		}
		for _, object := range objects {
			to, made := &created, object.Object
			if isMerged(object) {
				to, made = &merged, merging(object)
			}
			raw, err := json.Marshal(made)
			if err != nil {
				return nil, err
			}
			*to = append(*to, string(raw))
		}
	}
	if len(k.Generators) == 0 || len(created) > 0 && mergesItself(k) {
		return content, nil
	}
	o.sealed, k.Generators = true, merged
	if len(created) > 0 {
		const name = inflatedBy + "ksops.yaml"
		o.inflated[filepath.Join(dir, name)] = []byte(strings.Join(created, "\n---\n"))
		k.Resources = append(k.Resources, name)
	}
	return marshalled(k)
}

// mergesItself reports whether a kustomization merges what it generates with other objects. It does so before ksops creates some.
func mergesItself(k types.Kustomization) bool {
	return slices.ContainsFunc(k.SecretGenerator, func(s types.SecretArgs) bool { return s.Behavior != "" }) ||
		slices.ContainsFunc(k.ConfigMapGenerator, func(c types.ConfigMapArgs) bool { return c.Behavior != "" })
}

// errSealed is for a build in which something encrypted may decide about more than the data of Secrets and ConfigMaps.
var errSealed = types.NewErrOnlyBuiltinPluginsAllowed("ksops")

// builtBy is a kustomization of a folder.
type builtBy struct {
	dir string
	k   types.Kustomization
}

// copies reports whether a kustomization may copy a value to elsewhere. Kustomize would copy what is decrypted: parts of it, or a label that
// patches select by.
func (o *overlay) copies() bool {
	return slices.ContainsFunc(o.builtBy, func(by builtBy) bool {
		patches := slices.Concat(by.k.Patches, by.k.PatchesJson6902) //nolint:staticcheck // deprecated, and in many a repository
		copying := len(by.k.Replacements) + len(by.k.Vars)           //nolint:staticcheck // deprecated, too
		return copying+len(by.k.Transformers)+len(by.k.Configurations) > 0 || slices.ContainsFunc(patches, func(patch types.Patch) bool {
			return isElsewhere(patch.Path) || slices.ContainsFunc(o.operations(by.dir, patch), func(one operation) bool { return one["from"] != nil })
		})
	})
}

// leaks reports whether something encrypted is in an object, apart from the data of a Secret or a ConfigMap.
func leaks(object *delivery.Object) bool {
	rest := maps.Clone(object.Object)
	if object.Is("", "Secret") || object.Is("", "ConfigMap") {
		maps.DeleteFunc(rest, func(field string, _ any) bool {
			return slices.Contains([]string{"data", "stringData", "binaryData"}, field)
		})
	}
	raw, err := json.Marshal(rest)
	return err != nil || bytes.Contains(raw, []byte(delivery.Encrypted))
}

// ksops configures a generator. Without a function, that is a plug-in by its kind.
type ksops struct {
	APIVersion, Kind string
	Metadata         struct {
		Name        string
		Annotations struct {
			Function string `json:"config.kubernetes.io/function"`
		}
	}
	Files []string
}

// sealedBy are the objects that a generator decrypts, nil if it is another program, or if they are anything but Secrets and ConfigMaps.
func (o *overlay) sealedBy(dir, generator string) (all []*delivery.Object) {
	var config ksops
	var function struct{ Exec struct{ Path string } }
	read := o.valuesIn(dir, generator)
	if len(read) != 1 || !hasOnly(read[0], "apiVersion", "files", "kind", "metadata") {
		return nil
	}
	raw, err := json.Marshal(read[0])
	if err != nil || unpacking.UnmarshalStrict(raw, &config) != nil || config.APIVersion != "viaduct.ai/v1" || config.Kind != "ksops" {
		return nil
	}
	if run := config.Metadata.Annotations.Function; run != "" && (unpacking.UnmarshalStrict([]byte(run), &function) != nil || function.Exec.Path != "ksops") {
		return nil // with a path, it is a program in the repository
	}
	for _, file := range config.Files {
		documents := o.valuesIn(dir, file)
		if ending := filepath.Ext(file); len(documents) == 0 || ending != ".yaml" && ending != ".yml" {
			return nil // of a file with another ending, SOPS makes any text
		}
		for _, document := range documents {
			objects := sealedIn(document)
			if objects == nil {
				return nil
			}
			all = append(all, objects...)
		}
	}
	return all
}

// sealedIn are the objects of a document that SOPS has encrypted.
func sealedIn(document map[string]any) (objects []*delivery.Object) {
	if _, isSealed := document["sops"].(map[string]any); !isSealed {
		return nil
	}
	delete(document, "sops")
	items := []any{document}
	if document["kind"] == "List" && document["apiVersion"] == "v1" {
		items, _ = document["items"].([]any)
	}
	for _, item := range items {
		content, _ := item.(map[string]any)
		object := &delivery.Object{Unstructured: &unstructured.Unstructured{Object: content}}
		if !isSealed(object) {
			return nil
		}
		objects = append(objects, object)
	}
	return objects
}

// behavior is the annotation that says how Kustomize adds what was generated.
const behavior = "kustomize.config.k8s.io/behavior"

func isMerged(object *delivery.Object) bool { return object.Annotation(behavior) == "merge" }

// isSealed reports whether an object has only encrypted data, and Kustomize creates it or merges it as it does one of its own generator.
func isSealed(object *delivery.Object) bool {
	isMap := object.Is("", "ConfigMap")
	if !isMap && !object.Is("", "Secret") || leaks(object) {
		return false
	}
	annotations, _ := object.Field("metadata", "annotations").(map[string]any) // true may be no text
	for key := range annotations {
		if mayMerge := isMap && isMerged(object) && key == behavior; strings.Contains(key, "config.k") && !mayMerge {
			return false // it asks something else of Kustomize
		}
	}
	data, areTexts, _ := unstructured.NestedStringMap(object.Object, "data")
	isPlain := func(key string) bool {
		return !strings.HasPrefix(data[key], delivery.Encrypted) || strings.Contains(key, "=")
	}
	return !isMerged(object) || areTexts && hasOnly(object.Object, "apiVersion", "data", "kind", "metadata") && !slices.ContainsFunc(slices.Collect(maps.Keys(data)), isPlain)
}

// merging configures Kustomize's own generator to merge a ConfigMap in the place of ksops.
func merging(of *delivery.Object) map[string]any {
	annotations := of.GetAnnotations()
	delete(annotations, behavior)
	var literals []string
	for key, value := range of.TextMap("data") {
		literals = append(literals, key+"="+value)
	}
	return map[string]any{
		"apiVersion": "builtin", "kind": "ConfigMapGenerator", "metadata": map[string]any{"name": of.GetName(), "namespace": of.GetNamespace()},
		"behavior": "merge", "literals": slices.Sorted(slices.Values(literals)),
		"options": types.GeneratorOptions{Labels: of.GetLabels(), Annotations: annotations, DisableNameSuffixHash: true},
	}
}

// hasOnly reports whether these are the fields of an object, in the order of the alphabet. There are parsers to which capitals are the same.
func hasOnly(object map[string]any, fields ...string) bool {
	return slices.Equal(slices.Sorted(maps.Keys(object)), fields)
}

// valuesIn are the documents of a file of YAML in a folder, none if there is another way to read one of them.
func (o *overlay) valuesIn(dir, name string) (values []map[string]any) {
	file := filepath.Join(dir, name)
	content, err := o.FileSystem.ReadFile(file)
	if err != nil || isElsewhere(name) || !filepath.IsLocal(name) {
		return nil
	}
	parsed, err := sourceOf(content)
	if err != nil {
		return nil
	}
	for _, root := range parsed.roots {
		if len(root.Content) != 1 {
			return nil
		}
		value, ok := plain(root.Content[0])
		document, isMap := value.(map[string]any)
		if !ok || !isMap {
			return nil
		}
		values = append(values, document)
	}
	o.read[file] = true
	return values
}
