package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/unpacking"
)

// mostBytes is more than any object in etcd has.
const mostBytes = 32 << 20

// Backup is a file that has been read from its first byte to its last, and is as it was written.
type Backup struct {
	Manifest
	// Digest is that of the whole file but for the seal, which has it.
	Digest string
	// Definitions are the CRDs, by name.
	Definitions map[string]*apiextensionsv1.CustomResourceDefinition

	file io.ReaderAt
	size int64
}

// Object is one of a backup, at the versions that it was read at.
type Object struct {
	// CRD is the name of its CRD.
	CRD             string
	Namespace, Name string
	// Copies are JSON, by version.
	Copies map[string][]byte
}

// Open reads a backup. It is an error if a byte of it is not as it was written.
func Open(file io.ReaderAt, size int64) (*Backup, error) {
	b := &Backup{file: file, size: size, Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	counted := map[string]map[string]int64{}
	manifest, err := b.read(func(p place, content []byte) error {
		if p.version == "" {
			return nil
		}
		if err := isOf(p, content); err != nil {
			return err
		}
		if p.resource == crdResource {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			b.Definitions[p.name] = crd
			return json.Unmarshal(content, crd)
		}
		if counted[p.resource] == nil {
			counted[p.resource] = map[string]int64{}
		}
		counted[p.resource][p.version]++
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the backup is damaged, or is none, and nothing of it is used: %w", err)
	}
	b.Manifest = *manifest
	return b, b.agrees(counted)
}

// agrees holds the manifest to what is there.
func (b *Backup) agrees(counted map[string]map[string]int64) error {
	if b.Format != format && b.Format != withMissing {
		return fmt.Errorf("the backup has format %d, and this program knows %d; read it with the program that wrote it", b.Format, withMissing)
	}
	for _, of := range b.CRDs {
		if b.Definitions[of.Name] == nil {
			return fmt.Errorf("the backup lacks the CRD %s", of.Name)
		}
		for _, version := range of.Versions {
			if n, says := counted[of.Name][version], of.Objects-int64(len(of.MissingAt(version))); n != says {
				return fmt.Errorf("the backup has %d objects of %s at %s, and its manifest says %d", n, of.Name, version, says)
			}
		}
	}
	return nil
}

// isOf reports whether an object is the one of its place.
func isOf(p place, content []byte) error {
	if err := unpacking.BoundedJSON(content); err != nil {
		return fmt.Errorf("%s: %w", p.file(), err)
	}
	object := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(content, &object); err != nil {
		return fmt.Errorf("%s: %w", p.file(), err)
	}
	if object.Name != p.name || object.Namespace != p.namespace || object.GroupVersionKind().Version != p.version {
		return fmt.Errorf("%s holds another object: %s %s/%s", p.file(), object.APIVersion, object.Namespace, object.Name)
	}
	return nil
}

// Each hands over all objects, in the order in which they were read.
func (b *Backup) Each(take func(Object) error) error {
	var at Object
	hand := func() error {
		if at.Copies == nil {
			return nil
		}
		return take(at)
	}
	_, err := b.read(func(p place, content []byte) error {
		if p.version == "" || p.resource == crdResource {
			return nil
		}
		if at.Copies == nil || at.CRD != p.resource || at.Namespace != p.namespace || at.Name != p.name {
			if err := hand(); err != nil {
				return err
			}
			at = Object{CRD: p.resource, Namespace: p.namespace, Name: p.name, Copies: map[string][]byte{}}
		}
		at.Copies[p.version] = slices.Clone(content)
		return nil
	})
	if err != nil {
		return err
	}
	return hand()
}

// read reads the file from the first byte to the last.
func (b *Backup) read(visit func(place, []byte) error) (*Manifest, error) {
	if b.size <= int64(sealSize) {
		return nil, errNoSeal
	}
	seal := make([]byte, sealSize)
	if _, err := b.file.ReadAt(seal, b.size-int64(sealSize)); err != nil {
		return nil, err
	}
	digest, err := sealed(seal)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(b.file, 0, b.size-int64(sealSize)), sum), 1<<16)
	zip, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	zip.Multistream(false)
	f := &files{tar: tar.NewReader(zip), visit: visit}
	manifest, err := f.all()
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, zip); err != nil { // to its checksum
		return nil, err
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind its last file")
	}
	if b.Digest = digestOf(sum.Sum(nil)); b.Digest != digest {
		return nil, fmt.Errorf("its bytes have %s, and its seal says %s", b.Digest, digest)
	}
	return manifest, nil
}

// files are those of an archive, which are held to their SHA-256 as they are read.
type files struct {
	tar     *tar.Reader
	visit   func(place, []byte) error
	content bytes.Buffer
	lines   bytes.Buffer // of files whose SHA-256 comes later
	read    int64
	sums    int
}

func (f *files) all() (manifest *Manifest, err error) {
	for {
		name, err := f.next()
		switch {
		case errors.Is(err, io.EOF) && manifest != nil:
			return manifest, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it lacks " + manifestFile)
		case err == nil && manifest != nil:
			err = fmt.Errorf("%s lies behind the manifest", name)
		case err == nil && name == manifestFile:
			manifest, err = f.manifest()
		case err == nil:
			err = f.file(name)
		}
		if err != nil {
			return nil, err
		}
	}
}

// next reads the content of the next file.
func (f *files) next() (name string, err error) {
	header, err := f.tar.Next()
	if err != nil {
		return "", err
	}
	if header.Typeflag != tar.TypeReg || header.Size > mostBytes {
		return "", fmt.Errorf("%q is no file, or has more than %d bytes", header.Name, mostBytes)
	}
	f.content.Reset()
	_, err = f.content.ReadFrom(f.tar)
	return header.Name, err
}

func (f *files) file(name string) error {
	if name == sumsFile(f.sums+1) {
		f.sums++
		if !bytes.Equal(f.content.Bytes(), f.lines.Bytes()) {
			return fmt.Errorf("the files before it are not those of %s: %s", name, firstOther(f.lines.Bytes(), f.content.Bytes()))
		}
		f.lines.Reset()
		return nil
	}
	f.read++
	fmt.Fprintf(&f.lines, "%x  %s\n", sha256.Sum256(f.content.Bytes()), name)
	if f.lines.Len() > mostBytes {
		return fmt.Errorf("files have no SHA-256; the last is %s", name)
	}
	if name == versionFile {
		if f.content.String() != veleroFormat {
			return fmt.Errorf("%s is %q and not %q", name, f.content.String(), veleroFormat)
		}
		return nil
	}
	p, err := placeOf(name)
	if err != nil {
		return err
	}
	return f.visit(p, f.content.Bytes())
}

func (f *files) manifest() (*Manifest, error) {
	manifest := &Manifest{}
	if err := json.Unmarshal(f.content.Bytes(), manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if f.lines.Len() > 0 || f.read != manifest.Files {
		return nil, fmt.Errorf("it has %d files, and its manifest says %d", f.read, manifest.Files)
	}
	return manifest, nil
}

// firstOther is the first file that is not as its SHA-256 says.
func firstOther(is, says []byte) string {
	for line := range bytes.Lines(says) {
		here, rest, _ := bytes.Cut(is, []byte("\n"))
		if !bytes.Equal(here, bytes.TrimSuffix(line, []byte("\n"))) {
			return string(bytes.TrimSpace(line))
		}
		is = rest
	}
	return "there are more"
}
