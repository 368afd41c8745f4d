package manifests

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// at is a kind at a version.
type at struct {
	kind    GroupKind
	version string
}

// keepTogether holds back patches and their targets unless all that they can be for moves, too.
func keepTogether(all [][]match) {
	moved, stays := map[at]bool{}, map[at]Reference{}
	for _, matches := range all {
		for _, m := range matches {
			if key := (at{m.GroupKind, m.Version}); m.Role == Object && m.Why == "" {
				moved[key] = true
			} else if _, known := stays[key]; m.Role == Object && !known {
				stays[key] = m.Reference
			}
		}
	}
	for _, matches := range all {
		for i := range matches {
			m := &matches[i]
			if m.Why != "" || m.Role != Patch && m.Role != PatchTarget {
				continue
			}
			key := at{m.GroupKind, m.Version}
			if other, held := stays[key]; held {
				m.Why = fmt.Sprintf("it is a patch, and %s in %s, which it may be for, stays at %s", other.Object(), other.Place, m.Version)
			} else if !moved[key] {
				m.Why = "what it patches is in none of these files, and has to change with it; name that folder, too, or change both by hand"
			}
		}
	}
}

// patchFiles are the files that kustomizations among the files refer to as patches.
func patchFiles(files []File) map[string]bool {
	found := map[string]bool{}
	for _, f := range files {
		if base := path.Base(f.Name); base != "kustomization.yaml" && base != "kustomization.yml" && base != "Kustomization" {
			continue
		}
		roots, err := decode(f.Content)
		if err != nil || len(roots) == 0 || len(roots[0].Content) == 0 {
			continue
		}
		for _, name := range patchesOf(roots[0].Content[0]) {
			found[path.Join(path.Dir(f.Name), name)] = true
		}
	}
	return found
}

func patchesOf(kustomization *yaml.Node) []string {
	var names []string
	for _, key := range []string{"patches", "patchesJson6902"} {
		list, _ := field(kustomization, key)
		for _, item := range items(list) {
			names = append(names, scalar(item, "path"))
		}
	}
	list, _ := field(kustomization, "patchesStrategicMerge")
	for _, item := range items(list) {
		if !strings.Contains(item.Value, "\n") {
			names = append(names, item.Value)
		}
	}
	return names
}

// objectionToPatch is why a patch beside a target may not be converted: it sets a field that would be dropped.
func (t *Target) objectionToPatch(written *yaml.Node, from string) string {
	roots, err := decode([]byte(written.Value))
	if err != nil || len(roots) == 0 || len(roots[0].Content) == 0 {
		return ""
	}
	content := roots[0].Content[0]
	if content.Kind == yaml.MappingNode {
		return t.objection(content, from, true)
	}
	for _, operation := range items(content) {
		pointer := scalar(operation, "path")
		if !strings.HasPrefix(pointer, "/") || scalar(operation, "op") == "remove" {
			continue
		}
		value, _ := field(operation, "value")
		if why := t.objectionTo(pointed(pointer, value), from, true); why != "" {
			return why
		}
	}
	return ""
}

// pointed is an object in which a JSON pointer leads to a value.
func pointed(pointer string, value *yaml.Node) map[string]any {
	var content any
	if value != nil {
		if raw, err := yaml.NewRNode(value).MarshalJSON(); err == nil {
			_ = json.Unmarshal(raw, &content) // left nil, it still has its place
		}
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	slices.Reverse(steps)
	for _, step := range steps {
		if _, err := strconv.Atoi(step); err == nil || step == "-" {
			content = []any{content}
			continue
		}
		content = map[string]any{strings.NewReplacer("~1", "/", "~0", "~").Replace(step): content}
	}
	object, _ := content.(map[string]any)
	return object
}
