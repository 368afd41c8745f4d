package input

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/archive"
)

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
	if _, err := file.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) || string(magic) != gzipMagic {
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
