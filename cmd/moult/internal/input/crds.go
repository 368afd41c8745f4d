// Package input reads what subcommands are given: the CRDs and manifests that a folder, a file, a revision of Git or standard
// input holds.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/crddiff"
)

// CRDs reads the CRDs that a place holds, which has to be at least one. A place is a folder, which is built as Flux
// builds it, a file, git:REV:PATH, a backup, or - for standard input.
func CRDs(ctx context.Context, place string, stdin io.Reader) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := AnyCRDs(ctx, place, stdin)
	if err == nil && len(crds) == 0 {
		err = fmt.Errorf("there is no CustomResourceDefinition in %s; name the folder that holds some", Called(place))
	}
	return crds, err
}

// AnyCRDs are the CRDs that a place holds; there may be none.
func AnyCRDs(ctx context.Context, place string, stdin io.Reader) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	b, done, err := Backup(place)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", place, err)
	case b != nil:
		defer done()
		return definitions(b), nil
	}
	var found []*apiextensionsv1.CustomResourceDefinition
	err = rendered(ctx, place, stdin, func(rendering *render.Rendering, relative func(string) string) (err error) {
		found, err = decoded(rendering, relative)
		return err
	})
	return found, err
}

// rendered hands over what a place holds, while it is open, and how its files are called.
func rendered(ctx context.Context, place string, stdin io.Reader, take func(*render.Rendering, func(file string) string) error) error {
	if place == "-" {
		rendering, err := render.Stream(Called(place), stdin)
		if err != nil {
			return err
		}
		return take(rendering, path.Clean)
	}
	opened, err := repository.Open(ctx, place)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // what remains then is a temporary folder
	rendering, err := renderingAt(opened)
	if err != nil {
		return err
	}
	return take(rendering, opened.Relative)
}

// decoded are the CRDs of a rendering, as policies/crddiff reads them. All that are broken are named, by their place in the
// repository.
func decoded(rendering *render.Rendering, relative func(file string) string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var found []*apiextensionsv1.CustomResourceDefinition
	var broken []error
	for _, object := range rendering.Objects {
		if !object.IsCRD() {
			continue
		}
		crd, err := crddiff.Decode(object.Unstructured)
		if err != nil {
			at := object.Place()
			at.File = relative(at.File)
			broken = append(broken, fmt.Errorf("%s: %w", at, err))
			continue
		}
		found = append(found, crd)
	}
	return found, errors.Join(broken...)
}

// Called is what a person calls a place.
func Called(place string) string {
	if place == "-" {
		return "standard input"
	}
	return place
}

func renderingAt(t *repository.Tree) (*render.Rendering, error) {
	info, err := os.Stat(t.Dir)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		rendering, err := render.Folder(t.Dir, render.Options{})
		if err != nil && render.KustomizationIn(t.Dir) == "" {
			err = fmt.Errorf("%w; without a kustomization all manifests in a folder and below are taken as one, so if several things lie there, name the folders that hold the CRDs", err)
		}
		return rendering, err
	}
	file, err := os.Open(t.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return render.Stream(t.Name, file)
}

// Chosen are the CRDs with the names, all of them without names.
func Chosen(crds []*apiextensionsv1.CustomResourceDefinition, names []string, place string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
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
		return nil, fmt.Errorf("there is no %s in %s; a CRD's name is <plural>.<group>", strings.Join(missing, ", "), Called(place))
	}
	return found, nil
}
