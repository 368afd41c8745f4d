package render

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Patched are objects after Kustomize has applied patches and images to them, as a post-renderer of Helm does. They keep
// their places. It fails when Kustomize does: for two objects of one name, for example.
func Patched(objects []*delivery.Object, k types.Kustomization) (patched []*delivery.Object, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = gaveUp(caught)
		}
	}()
	if len(objects) == 0 {
		return nil, nil
	}
	const dir, resources = "/post-renderer", "objects.yaml"
	var all bytes.Buffer
	for _, object := range objects {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(content)
	}
	k.Resources = []string{resources}
	kustomization, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	files := filesys.MakeFsInMemory()
	for name, content := range map[string][]byte{resources: all.Bytes(), "kustomization.yaml": kustomization} {
		if err := files.WriteFile(dir+"/"+name, content); err != nil {
			return nil, err
		}
	}
	built, err := build(files, dir, newRemotes(network.Offline(), nil))
	if err != nil {
		return nil, fmt.Errorf("the post-renderer fails: %w", err)
	}
	patched, err = objectsOf(built, nil, func(int, []string) finding.Place { return finding.Place{} })
	if err != nil {
		return nil, err
	}
	for _, object := range patched {
		for _, before := range objects {
			if before.Same(object) {
				object.At = before.At
			}
		}
	}
	return patched, nil
}
