package madeof

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/unpacking"
)

// kustomizations are those that folders are built of.
type kustomizations struct {
	// fields are what each of them holds, by its file.
	fields map[string]map[string]any
	// homes are where the charts of a folder lie, by the folder.
	homes map[string]string
	// others are the files that they name as something else than a resource, or that they may copy from.
	others map[string]bool
	// values are files of values for charts.
	values map[string]bool
	// referred are the kinds whose objects decide about others: by what they hold, or by their names.
	referred []string
	// configured: images and replicas may be put into more than containers and what runs them, or be copied from these.
	configured bool
}

// copying are the fields of a kustomization by which any manifest may decide about another.
var copying = []string{"vars", "validators"}

// kustomizationsOf are those among some files; nil if any manifest may decide about another, or if one of them cannot be read.
func kustomizationsOf(t *files.Tree, all, referred []string) *kustomizations {
	k := &kustomizations{fields: map[string]map[string]any{}, homes: map[string]string{}, others: map[string]bool{}, values: map[string]bool{}, referred: slices.Clone(referred)}
	for _, file := range all {
		if render.KustomizationIn(filepath.Dir(file)) != file {
			continue
		}
		content, err := render.ReadRegular(file)
		fields := map[string]any{}
		if err != nil || unpacking.Unmarshal(content, &fields) != nil || fields == nil || bytes.Contains(content, []byte("allowKindChange")) {
			return nil
		}
		k.fields[file] = fields
		k.homes[filepath.Dir(file)] = homeOf(filepath.Dir(file), fields)
		for field, value := range fields {
			if slices.Contains(copying, field) || field == "configurations" && !k.configure(t, filepath.Dir(file), value) || field == "replacements" && !k.copies(t, file, value) || (field == "generators" || field == "transformers") && !k.generates(filepath.Dir(file), field, value) {
				return nil
			}
			switch field {
			case "resources":
			case "helmCharts":
				k.nameValues(filepath.Dir(file), value)
			default:
				k.name(filepath.Dir(file), value)
			}
		}
	}
	return k
}

// copies notes what the replacements of a kustomization may copy from: objects of the kinds that they name, or else all that it is
// built of. A component copies from what it is a component of, too, and it is false then.
func (k *kustomizations) copies(t *files.Tree, file string, replacements any) bool {
	list, _ := replacements.([]any)
	for _, one := range list {
		replacement, _ := one.(map[string]any)
		kind, _, _ := unstructured.NestedString(replacement, "source", "kind")
		k.configured = k.configured || kind != "ConfigMap" && kind != "Secret" // what they copy may be of an image
		if kind != "" {
			k.referred = append(k.referred, kind)
			continue
		}
		if render.IsComponent(file) {
			return false
		}
		for _, part := range render.Local(filepath.Dir(file), t.Root) {
			k.others[part] = true
		}
	}
	return true
}

// generates notes the files that generators and transformers name; false if they cannot be read. Generators get no other manifests. Transformers
// that are built in copy nothing from these, but for the one that is for it, and may put images into more than containers.
func (k *kustomizations) generates(dir, field string, generators any) bool {
	k.configured = k.configured || field == "transformers"
	list, _ := generators.([]any)
	for _, one := range list {
		name, _ := one.(string)
		content, text, at := []byte(name), strings.Contains(name, "\n"), dir
		if file := filepath.Join(dir, filepath.FromSlash(name)); !text {
			read, err := render.ReadRegular(file)
			if err != nil {
				return false
			}
			content, at = read, filepath.Dir(file)
		}
		read, err := render.Stream(name, bytes.NewReader(content))
		if err != nil {
			return false
		}
		for _, object := range read.Objects {
			if field == "transformers" && (object.GetAPIVersion() != "builtin" || object.GetKind() == "ReplacementTransformer") {
				return false
			}
			k.name(at, object.Object)
		}
	}
	return true
}

// nameValues notes the files of values of charts.
func (k *kustomizations) nameValues(dir string, charts any) {
	list, _ := charts.([]any)
	for _, one := range list {
		chart, _ := one.(map[string]any)
		more, _ := chart["additionalValuesFiles"].([]any)
		for _, name := range append([]any{chart["valuesFile"]}, more...) {
			if text, _ := name.(string); text != "" {
				k.values[filepath.Join(dir, filepath.FromSlash(text))] = true
			}
		}
	}
}

// homeOf is where the charts of a kustomization lie; empty if that may be anywhere in its folder.
func homeOf(dir string, fields map[string]any) string {
	charts, _ := fields["helmCharts"].([]any)
	for _, one := range charts {
		chart, _ := one.(map[string]any)
		if name, _ := chart["name"].(string); !filepath.IsLocal(name) {
			return ""
		}
	}
	if len(charts) == 0 || fields["helmChartInflationGenerator"] != nil {
		return ""
	}
	home, _, _ := unstructured.NestedString(fields, "helmGlobals", "chartHome")
	return filepath.Join(dir, filepath.FromSlash(cmp.Or(home, types.HelmDefaultHome)))
}

// name notes the files that a field of a kustomization names.
func (k *kustomizations) name(dir string, value any) {
	for _, v := range crdschema.Each(value) {
		text, _ := v.(string)
		_, behind, _ := strings.Cut(text, "=") // a generator's file may have a key before it
		for _, name := range []string{text, behind} {
			k.others[filepath.Join(dir, filepath.FromSlash(name))] = true
		}
	}
}

// configure adds the kinds whose names configurations write into other objects, and reports whether it could read them.
func (k *kustomizations) configure(t *files.Tree, dir string, configurations any) bool {
	k.configured = true
	names, _ := configurations.([]any)
	for _, name := range names {
		text, _ := name.(string)
		content, found := t.Read(t.Relative(filepath.Join(dir, filepath.FromSlash(text))))
		var read struct {
			NameReference []struct {
				Kind string `json:"kind"`
			} `json:"nameReference"`
		}
		if !found || unpacking.Unmarshal(content, &read) != nil {
			return false
		}
		for _, of := range read.NameReference {
			if of.Kind == "" {
				return false // which may be any
			}
			k.referred = append(k.referred, of.Kind)
		}
	}
	return true
}
