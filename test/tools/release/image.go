package main

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is nobody in particular; the Deployment says the same.
const user = "65532:65532"

// billPath is where scanners find the bill of materials.
const billPath = "usr/share/sbom/moult-controller.cdx.json"

// assemble makes the image of one platform: one layer on nothing. There are no certificates of authorities in it,
// because the one that Moult talks to, the API server, is vouched for by the ServiceAccount's own.
func assemble(programs []string, bill []byte, s source, platform string) (v1.Image, error) {
	content, err := pack(programs, bill, s, platform)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: s.time}, CreatedBy: "make image"}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, _ = strings.Cut(platform, "/")
	file.Created = v1.Time{Time: s.time}
	file.Config = v1.Config{
		User: user, Entrypoint: []string{"/moult-controller"}, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "moult-controller",
			"org.opencontainers.image.version":  s.version,
			"org.opencontainers.image.revision": s.revision,
			"org.opencontainers.image.source":   "https://github.com/moult-dev/moult",
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, file)
}

// pack is the layer: the programs and the bill, owned by root, writable by nobody.
func pack(programs []string, bill []byte, s source, platform string) ([]byte, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	add := func(path string, mode int64, body []byte) error {
		header := &tar.Header{Name: path, Mode: mode, Size: int64(len(body)), ModTime: s.time, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if body == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := archive.Write(body)
		return err
	}
	for _, program := range programs {
		body, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		if err := add(strings.TrimSuffix(filepath.Base(program), fileName("", platform)), 0o555, body); err != nil {
			return nil, err
		}
	}
	for _, folder := range []string{"usr/", "usr/share/", "usr/share/sbom/"} {
		if err := add(folder, 0o755, nil); err != nil {
			return nil, err
		}
	}
	if err := add(billPath, 0o444, bill); err != nil {
		return nil, err
	}
	return content.Bytes(), archive.Close()
}

// write writes the OCI layout and the archives, and returns the digest of the index.
func write(out, reference string, images map[string]v1.Image) (v1.Hash, error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range slices.Sorted(maps.Keys(images)) {
		image := images[platform]
		if err := tarball.WriteToFile(filepath.Join(out, fileName("moult-controller", platform)+".tar"), tag, image); err != nil {
			return v1.Hash{}, err
		}
		system, architecture, _ := strings.Cut(platform, "/")
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}}})
	}
	folder, err := layout.Write(filepath.Join(out, "oci"), empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := folder.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag.TagStr()})); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}
