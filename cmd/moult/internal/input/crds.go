// Package input reads what subcommands are given: the CRDs and manifests that a folder, a file, a revision of Git or standard
// input holds.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// CRDs are the CRDs that a place holds, those with the names or all of them, which has to be at least one. A place is a folder, which
// is built as Flux builds it, a file, git:REV:PATH, a backup, or - for standard input. It is an error if there are several of a name
// that differ: one of them would be taken, or each.
func CRDs(ctx context.Context, place string, stdin io.Reader, names ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := some(ctx, place, stdin)
	if err != nil {
		return nil, err
	}
	one := map[string]placedCRD{}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, p := range found {
		name := p.crd.Name
		other, again := one[name]
		switch {
		case len(names) > 0 && !slices.Contains(names, name):
		case !again:
			one[name] = p
			crds = append(crds, p.crd)
		case !equality.Semantic.DeepEqual(other.crd, p.crd):
			return nil, fmt.Errorf("%s is in %s more than once, and differs: at %s and at %s; name a place that has one of them", name, Called(place), other.at, p.at)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return one[name].crd != nil })
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no %s in %s; a CRD's name is <plural>.<group>", strings.Join(missing, ", "), Called(place))
	}
	return crds, nil
}

// AllCRDs are those that a place holds, each as often as it is there.
func AllCRDs(ctx context.Context, place string, stdin io.Reader) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := some(ctx, place, stdin)
	return words.Of(found, placedCRD.definition), err
}

// AnyCRDs are the same; there may be none.
func AnyCRDs(ctx context.Context, place string, stdin io.Reader) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := placed(ctx, place, stdin)
	return words.Of(found, placedCRD.definition), err
}

// placedCRD is a CRD, and where it was found.
type placedCRD struct {
	crd *apiextensionsv1.CustomResourceDefinition
	at  string
}

func (p placedCRD) definition() *apiextensionsv1.CustomResourceDefinition { return p.crd }

// some are at least one.
func some(ctx context.Context, place string, stdin io.Reader) ([]placedCRD, error) {
	found, err := placed(ctx, place, stdin)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no CustomResourceDefinition in %s; name the folder that holds some", Called(place))
	}
	return found, err
}

func placed(ctx context.Context, place string, stdin io.Reader) ([]placedCRD, error) {
	b, done, err := Backup(place)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", place, err)
	case b != nil:
		defer done()
		return words.Of(definitions(b), func(crd *apiextensionsv1.CustomResourceDefinition) placedCRD { return placedCRD{crd, place} }), nil
	}
	var found []placedCRD
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
	rendering, err := renderingAt(ctx, opened)
	if err != nil {
		return err
	}
	return take(rendering, opened.Relative)
}

// decoded are the CRDs of a rendering, as policies/crddiff reads them. All that are broken are named, by their place in the
// repository.
func decoded(rendering *render.Rendering, relative func(file string) string) ([]placedCRD, error) {
	var found []placedCRD
	var broken []error
	for _, object := range rendering.Objects {
		if !object.IsCRD() {
			continue
		}
		at := object.Place()
		at.File = relative(at.File)
		crd, err := crddiff.Decode(object.Unstructured)
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", at, err))
			continue
		}
		found = append(found, placedCRD{crd, at.String()})
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

// Folder builds a folder, with the charts that its kustomizations take in; those that are not in the repository are fetched.
func Folder(ctx context.Context, dir string, o render.Options) (*render.Rendering, error) {
	opened, err := repository.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // what remains then is a temporary folder
	return built(ctx, opened, dir, o)
}

func built(ctx context.Context, t *repository.Tree, dir string, o render.Options) (*render.Rendering, error) {
	o.Inflate = helm.Renderer{Source: store.New(store.Options{Fetch: true}), Tree: files.Of(t)}.Inflate(ctx, nil)
	return render.Folder(dir, o)
}

func renderingAt(ctx context.Context, t *repository.Tree) (*render.Rendering, error) {
	info, err := os.Stat(t.Dir)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		rendering, err := built(ctx, t, t.Dir, render.Options{})
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

// gzipMagic is how a backup begins; no manifest does.
const gzipMagic = "\x1f\x8b"

// Backup is the backup that a place is; nil if it is something else. It stays open until done.
func Backup(place string) (b *archive.Backup, done func(), err error) {
	file, err := os.Open(place)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // a revision of Git, standard input, or an error that comes when it is read as a folder
	}
	done = func() { _ = file.Close() } // it was only read
	magic := make([]byte, len(gzipMagic))
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		done()
		return nil, nil, err
	}
	_, err = file.ReadAt(magic, 0)
	if errors.Is(err, io.EOF) {
		err = nil // it is shorter, or empty: what reads it as manifests says what is missing
	}
	if err != nil || string(magic) != gzipMagic {
		done()
		return nil, nil, err
	}
	if b, err = archive.Open(file, info.Size()); err != nil {
		done()
		return nil, nil, err
	}
	return b, done, nil
}

// definitions are the CRDs of a backup, by name, as a manifest has them.
func definitions(b *archive.Backup) (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, name := range slices.Sorted(maps.Keys(b.Definitions)) {
		crd := b.Definitions[name]
		annotations := maps.Clone(crd.Annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		delete(annotations, v1alpha1.BackupAnnotation)
		all = append(all, &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   crd.TypeMeta,
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: crd.Labels, Annotations: annotations},
			Spec:       crd.Spec,
		})
	}
	return all
}

// Objects are all manifests that a place holds, lists by their items: as CRDs, but of any kind.
func Objects(ctx context.Context, place string, stdin io.Reader) (objects []unstructured.Unstructured, err error) {
	err = rendered(ctx, place, stdin, func(rendering *render.Rendering, relative func(string) string) error {
		for _, object := range rendering.Objects {
			raw, err := object.MarshalJSON()
			if err != nil {
				return err
			}
			decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme, raw) // numbers are as the API server has them
			if err != nil {
				at := object.Place()
				at.File = relative(at.File)
				return fmt.Errorf("%s: %w", at, err)
			}
			switch decoded := decoded.(type) {
			case *unstructured.UnstructuredList:
				objects = append(objects, decoded.Items...)
			case *unstructured.Unstructured:
				objects = append(objects, *decoded)
			}
		}
		return nil
	})
	return objects, err
}

// Accepted are the losses that somebody means, in the file of --accept; empty is none.
func Accepted(file string) (accepted []conversion.Accepted, err error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err == nil {
		err = unpacking.UnmarshalStrict(content, &accepted)
	}
	for i, a := range accepted {
		if err == nil && (a.CRD == "" || a.Path == "" || a.Reason == "") {
			err = fmt.Errorf("entry %d lacks the crd, the path or the reason", i+1)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--accept %s: %w; write a list like\n- crd: widgets.example.com\n  path: spec.color\n  reason: no client reads it", file, err)
	}
	return accepted, nil
}
