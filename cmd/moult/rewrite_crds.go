package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/tree"
)

// crdsFrom reads the CRDs that a place holds: a folder, which is built as Flux builds it, a file, or git:REV:PATH.
func crdsFrom(ctx context.Context, place string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	opened, err := tree.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // what is left then is a temporary folder
	rendering, err := renderingAt(opened)
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, object := range rendering.Objects {
		if object.GetKind() != "CustomResourceDefinition" || object.GroupVersionKind().Group != apiextensionsv1.GroupName {
			continue
		}
		if object.GroupVersionKind().Version != "v1" {
			return nil, fmt.Errorf("%s: %s is written at %s, which no API server takes any more; use apiextensions.k8s.io/v1", object.Place(), object.GetName(), object.GetAPIVersion())
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, fmt.Errorf("%s: %s is no CustomResourceDefinition: %w", object.Place(), object.GetName(), err)
		}
		crds = append(crds, crd)
	}
	if len(crds) == 0 {
		return nil, fmt.Errorf("there is no CustomResourceDefinition in %s; name the folder that holds some", place)
	}
	return crds, nil
}

func renderingAt(t *tree.Tree) (*render.Rendering, error) {
	info, err := os.Stat(t.Dir)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return render.Folder(t.Dir, render.Options{})
	}
	file, err := os.Open(t.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return render.Stream(t.Name, file)
}

// chosen are the CRDs with the names, all of them without names.
func chosen(crds []*apiextensionsv1.CustomResourceDefinition, names []string, place string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if len(names) == 0 {
		return crds, nil
	}
	var found []*apiextensionsv1.CustomResourceDefinition
	missing := slices.Clone(names)
	for _, crd := range crds {
		if slices.Contains(names, crd.Name) {
			found = append(found, crd)
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == crd.Name })
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no %s in %s; a CRD's name is <plural>.<group>", strings.Join(missing, ", "), place)
	}
	return found, nil
}
