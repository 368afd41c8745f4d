package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	crds "github.com/moult-dev/moult/api/crd"
)

// perSums is how many files have their SHA-256 in one file.
const perSums = 500

// Writer writes a backup. CRDs and objects are added in any order; Close ends it.
type Writer struct {
	manifest Manifest
	out      io.Writer
	sum      hash.Hash
	zip      *gzip.Writer
	tar      *tar.Writer
	lines    bytes.Buffer // of files that have no SHA-256 in the archive yet
	inLines  int
	sums     int
}

// NewWriter begins a backup of a cluster, which may have no known UID.
func NewWriter(out io.Writer, now time.Time, cluster types.UID) (*Writer, error) {
	w := &Writer{manifest: Manifest{Format: format, Time: now.UTC().Truncate(time.Second), Cluster: cluster, CRDs: []CRDReport{}}, out: out, sum: sha256.New()}
	w.zip = gzip.NewWriter(io.MultiWriter(out, w.sum))
	w.tar = tar.NewWriter(w.zip)
	return w, w.add(versionFile, []byte(veleroFormat))
}

// CRD adds a CRD, and begins with its objects, which are added at these versions. They may be stored at others, too
// (crds.MayBeStoredAt).
func (w *Writer) CRD(crd *apiextensionsv1.CustomResourceDefinition, versions, stored []string) (*Objects, error) {
	crd = crd.DeepCopy()
	crd.TypeMeta = crdKind
	content, err := json.Marshal(crd)
	if err != nil {
		return nil, err
	}
	if err := w.copies(place{resource: crdResource, version: apiextensionsv1.SchemeGroupVersion.Version, preferred: true, name: crd.Name}, content); err != nil {
		return nil, err
	}
	o := &Objects{CRDReport: CRDReport{
		Name: crd.Name, UID: crd.UID, Generation: crd.Generation, StorageVersion: crds.StorageVersion(crd), StoredVersions: crd.Status.StoredVersions,
		Versions: versions,
	}, writer: w, crd: crd}
	for _, version := range stored {
		switch {
		case slices.Contains(versions, version):
		case len(versions) > 0 && crds.IsHidden(crd, version):
			o.hidden = append(o.hidden, version)
		default:
			o.NotRead = append(o.NotRead, version)
		}
	}
	if len(versions) > 0 {
		o.preferred = slices.MaxFunc(versions, version.CompareKubeAwareVersionStrings)
	}
	return o, nil
}

// Objects are those of one CRD.
type Objects struct {
	CRDReport

	writer    *Writer
	crd       *apiextensionsv1.CustomResourceDefinition
	preferred string
	hidden    []string // versions that objects may be stored at by their managedFields only
}

// Add adds an object at all versions but for those at which it is missing, if there are some.
func (o *Objects) Add(copies []*unstructured.Unstructured, missing *Missing) error {
	o.Objects++
	if missing != nil {
		o.Missing, o.writer.manifest.Format = append(o.Missing, *missing), withMissing
	}
	o.hidden = slices.DeleteFunc(o.hidden, func(version string) bool {
		may := len(copies) == 0 || crds.WrittenAt(o.crd, copies[0].GetManagedFields(), version)
		if may {
			o.NotRead = append(o.NotRead, version)
		}
		return may
	})
	for _, object := range copies {
		content, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		at := object.GroupVersionKind().Version
		p := place{resource: o.Name, version: at, preferred: at == o.preferred, namespace: object.GetNamespace(), name: object.GetName()}
		if err := o.writer.copies(p, bytes.TrimSpace(content)); err != nil {
			return err
		}
	}
	return nil
}

// End ends the objects, which were read at one resourceVersion; empty for several.
func (o *Objects) End(resourceVersion string) {
	o.ResourceVersion = resourceVersion
	o.writer.manifest.CRDs = append(o.writer.manifest.CRDs, o.CRDReport)
}

// copies writes an object where its version has it, and once more if that is the preferred one.
func (w *Writer) copies(p place, content []byte) error {
	if err := w.add(p.file(), content); err != nil || !p.preferred {
		return err
	}
	return w.add(place{resource: p.resource, namespace: p.namespace, name: p.name}.file(), content)
}

func (w *Writer) add(name string, content []byte) error {
	if len(content) > mostBytes {
		return fmt.Errorf("%s has %d bytes; a backup takes files up to %d", name, len(content), mostBytes)
	}
	w.manifest.Files++
	if err := w.write(name, content); err != nil {
		return err
	}
	fmt.Fprintf(&w.lines, "%x  %s\n", sha256.Sum256(content), name)
	if w.inLines++; w.inLines < perSums {
		return nil
	}
	return w.writeSums()
}

func (w *Writer) writeSums() error {
	if w.inLines == 0 {
		return nil
	}
	w.sums++
	err := w.write(sumsFile(w.sums), w.lines.Bytes())
	w.lines.Reset()
	w.inLines = 0
	return err
}

func sumsFile(n int) string { return path.Join(sumsDir, fmt.Sprintf("%05d", n)) }

func (w *Writer) write(name string, content []byte) error {
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: w.manifest.Time})
	if err != nil {
		return err
	}
	_, err = w.tar.Write(content)
	return err
}

// Close writes the end, and returns the digest of the whole.
func (w *Writer) Close() (digest string, err error) {
	if err := w.writeSums(); err != nil {
		return "", err
	}
	content, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return "", err
	}
	if err := w.write(manifestFile, append(content, '\n')); err != nil {
		return "", err
	}
	if err := errors.Join(w.tar.Close(), w.zip.Close()); err != nil {
		return "", err
	}
	sum := w.sum.Sum(nil)
	_, err = w.out.Write(sealOf(sum))
	return digestOf(sum), err
}
