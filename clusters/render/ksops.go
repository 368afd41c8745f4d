package render

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/policies/delivery"
)

// decrypted has the Secrets and ConfigMaps of a kustomization's generators as resources, if all that a generator does is to decrypt them. SOPS
// leaves their kinds and names as they are.
// https://github.com/viaduct-ai/kustomize-sops
func (o *overlay) decrypted(file string, content []byte) []byte {
	var k types.Kustomization
	if !bytes.Contains(content, []byte("generators")) || k.Unmarshal(content) != nil {
		return content // Kustomize will tell
	}
	dir, all := filepath.Dir(file), len(k.Generators)
	k.Generators = slices.DeleteFunc(k.Generators, func(name string) bool {
		added, merged := o.encrypted(dir, name)
		k.Resources = append(k.Resources, added...)
		for _, file := range merged {
			k.Patches = append(k.Patches, types.Patch{Path: file})
		}
		return len(added)+len(merged) > 0
	})
	if len(k.Generators) == all {
		return content
	}
	k.FixKustomization() // older fields become newer ones
	if short, err := marshalled(k); err == nil {
		return short
	}
	return content
}

// encrypted are the files that a generator decrypts: those that are added, and those that are merged with what is there. There are none if it
// is another generator, or if they are of other kinds.
func (o *overlay) encrypted(dir, generator string) (added, merged []string) {
	var files []string
	for _, object := range o.objectsIn(filepath.Join(dir, generator)) {
		if object.GetKind() != "ksops" || object.GroupVersionKind().Group != "viaduct.ai" || object.Field("secretFrom") != nil {
			return nil, nil
		}
		files = append(files, object.Texts("files")...)
	}
	isOther := func(object *delivery.Object) bool {
		kind := object.GetKind()
		return kind != "Secret" && kind != "ConfigMap" || object.GetAPIVersion() != "v1" || strings.HasPrefix(object.GetName(), encrypted) ||
			strings.HasPrefix(object.Text("type"), encrypted) || strings.Contains(object.Text("type"), "resource-set") ||
			object.GetAnnotations()[behavior] != "" && !isMerged(object)
	}
	for _, file := range files {
		objects := o.objectsIn(filepath.Join(dir, file))
		areMerged := slices.ContainsFunc(objects, isMerged)
		if !filepath.IsLocal(file) || len(objects) == 0 || slices.ContainsFunc(objects, isOther) || areMerged && len(objects) > 1 {
			return nil, nil
		}
		if areMerged {
			merged = append(merged, file)
		} else {
			added = append(added, file)
		}
	}
	return added, merged
}

// behavior is how Kustomize adds what was generated.
const behavior = "kustomize.config.k8s.io/behavior"

func isMerged(object *delivery.Object) bool { return object.GetAnnotations()[behavior] == "merge" }

// encrypted is what a value begins with that SOPS has encrypted.
const encrypted = "ENC["

// objectsIn are those of a file, none if it cannot be read.
func (o *overlay) objectsIn(file string) []*delivery.Object {
	content, err := o.FileSystem.ReadFile(file)
	if err != nil {
		return nil
	}
	read, err := Stream(file, bytes.NewReader(content))
	if err != nil {
		return nil
	}
	return read.Objects
}
