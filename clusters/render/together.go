package render

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/unpacking"
)

// together is a kustomization in which JSON patches of one target that follow one another are one. For each patch, Kustomize prints
// and parses all that it patches, and a CRD may have megabytes.
func (o *overlay) together(file string, content []byte) []byte {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return content // Kustomize will tell
	}
	var patches []types.Patch
	var before []operation // what the last of these does to a spec, nil if that is something else
	for _, patch := range k.Patches {
		operations := o.ofSpec(filepath.Dir(file), patch)
		if last := len(patches) - 1; operations != nil && before != nil && reflect.DeepEqual(patch.Target, patches[last].Target) {
			before = append(before, operations...)
			text, err := json.Marshal(before)
			if err != nil {
				return content
			}
			patches[last] = types.Patch{Patch: string(text), Target: patch.Target}
			continue
		}
		patches, before = append(patches, patch), operations
	}
	if len(patches) == len(k.Patches) {
		return content
	}
	k.Patches = patches
	short, err := yaml.Marshal(k)
	if err != nil {
		return content
	}
	return short
}

// ofSpec are the operations of a JSON patch that changes nothing but the spec of its target, nil for every other patch. The patches
// behind it select the same as before.
func (o *overlay) ofSpec(dir string, patch types.Patch) []operation {
	if patch.Target == nil || patch.Options != nil {
		return nil
	}
	operations := o.operations(dir, patch)
	isOther := func(way json.RawMessage) bool { return !bytes.HasPrefix(way, []byte(`"/spec/`)) }
	if slices.ContainsFunc(operations, func(one operation) bool { return isOther(one["path"]) || one["from"] != nil && isOther(one["from"]) }) {
		return nil
	}
	return operations
}

// isElsewhere reports whether a file is none of a kustomization's folder: Kustomize asks for it over HTTP, whatever lies there.
func isElsewhere(path string) bool { return strings.Contains(path, ":") || filepath.IsAbs(path) }

// operation is one of a JSON patch, whose keys are not the same in capitals.
type operation map[string]json.RawMessage

// operations are those of a JSON patch of this folder, nil for every other patch.
func (o *overlay) operations(dir string, patch types.Patch) (operations []operation) {
	text := []byte(strings.TrimSpace(patch.Patch))
	if patch.Path != "" {
		var err error
		if isElsewhere(patch.Path) {
			return nil
		}
		if text, err = o.FileSystem.ReadFile(filepath.Join(dir, patch.Path)); err != nil {
			return nil
		}
		o.read[filepath.Join(dir, patch.Path)] = true
	}
	if !strings.HasPrefix(string(text), "[") {
		raw, err := unpacking.YAMLToJSON(text)
		if err != nil {
			return nil
		}
		text = raw
	}
	if json.Unmarshal(text, &operations) != nil {
		return nil
	}
	return operations
}
