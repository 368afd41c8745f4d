package render

import (
	"encoding/json"
	"path/filepath"
	"reflect"
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
	var before []json.RawMessage // what the last of these does to a spec, nil if that is something else
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
func (o *overlay) ofSpec(dir string, patch types.Patch) (operations []json.RawMessage) {
	text := []byte(strings.TrimSpace(patch.Patch))
	if patch.Path != "" {
		var err error
		if text, err = o.FileSystem.ReadFile(filepath.Join(dir, patch.Path)); err != nil {
			return nil
		}
		o.read[filepath.Join(dir, patch.Path)] = true
	}
	if patch.Target == nil || patch.Options != nil {
		return nil
	}
	if !strings.HasPrefix(string(text), "[") {
		raw, err := unpacking.YAMLToJSON(text)
		if err != nil {
			return nil
		}
		text = raw
	}
	var ways []struct{ Path, From string }
	if json.Unmarshal(text, &ways) != nil || json.Unmarshal(text, &operations) != nil {
		return nil
	}
	for _, way := range ways {
		if !strings.HasPrefix(way.Path, "/spec/") || way.From != "" && !strings.HasPrefix(way.From, "/spec/") {
			return nil
		}
	}
	return operations
}
