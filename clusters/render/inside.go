package render

import (
	"bytes"
	"path/filepath"
	"reflect"

	"sigs.k8s.io/kustomize/api/types"
)

// looksInside reports whether a kustomization could read or change the schema of a CRD. What is known not to is listed here,
// and all else could: transformers, replacements, vars, generators that read files with CRDs, and so on. Being wrong about
// one that could not only takes time.
func (o *overlay) looksInside(file string, content []byte) bool {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return true
	}
	k.FixKustomization() // older fields become newer ones
	dir := filepath.Dir(file)
	for _, patch := range k.Patches {
		if namesVersions([]byte(patch.Patch)) || patch.Path != "" && o.fileNamesVersions(dir, patch.Path) {
			return true
		}
	}
	for _, label := range k.Labels {
		if len(label.FieldSpecs) > 0 {
			return true
		}
	}
	for _, secret := range k.SecretGenerator {
		if len(secret.FileSources)+len(secret.EnvSources)+len(secret.EnvSource) > 0 {
			return true // base64 would hide a stand-in
		}
	}
	// None of these reaches into spec.versions of a CRD. The transformer of images leaves CRDs alone by name, and in a
	// generated ConfigMap a stand-in is found.
	harmless := types.Kustomization{
		TypeMeta: k.TypeMeta, MetaData: k.MetaData, BuildMetadata: k.BuildMetadata, SortOptions: k.SortOptions,
		Resources: k.Resources, Components: k.Components,
		Namespace: k.Namespace, NamePrefix: k.NamePrefix, NameSuffix: k.NameSuffix,
		CommonLabels: k.CommonLabels, //nolint:staticcheck // deprecated, and in many a repository
		Labels:       k.Labels, CommonAnnotations: k.CommonAnnotations,
		Images: k.Images, Replicas: k.Replicas, GeneratorOptions: k.GeneratorOptions,
		Patches: k.Patches, ConfigMapGenerator: k.ConfigMapGenerator, SecretGenerator: k.SecretGenerator,
	}
	return !reflect.DeepEqual(k, harmless)
}

// fileNamesVersions reads a patch.
func (o *overlay) fileNamesVersions(dir, path string) bool {
	content, err := o.FileSystem.ReadFile(filepath.Join(dir, path))
	return err != nil || namesVersions(content)
}

// namesVersions reports whether a patch may say versions, which every path to a schema does. A backslash or a tag may be
// another way to say it.
func namesVersions(patch []byte) bool {
	return bytes.Contains(patch, []byte("versions")) || bytes.ContainsAny(patch, `\!`)
}
