package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Release is one stored revision of a Helm release, as far as it matters here. Its values are not kept.
type Release struct {
	Namespace, Name string
	Revision        int
	// Status is Helm's word, for example deployed or superseded.
	Status string
	// CRDs are those in the manifest; true if the manifest says that an uninstall keeps them.
	CRDs map[string]bool
	// Files are the CRDs in the chart's folder crds, which are no part of the manifest. Helm does not store those of
	// subcharts.
	Files map[string]bool
	// Uses counts the objects in the manifest.
	Uses map[schema.GroupVersionKind]int
}

// ErrTooMuch says that a release is larger than what is read of one. Helm itself stores none that large: a Secret holds
// 1 MiB, which is a few MiB of text. But a client that may write Secrets could store what takes minutes and all memory
// to read.
var ErrTooMuch = errors.New("it is larger than a release of Helm's gets")

// limits bound what is read of a release.
type limits struct {
	// unpacked and document are in bytes: all that is stored, and one YAML document of it.
	unpacked, document int
	// documents are those that are not empty, with the items of lists.
	documents int
}

// helmLimits leave room for what the API server takes: it refuses requests of more than 3 MiB, and etcd of more than 1.5.
var helmLimits = limits{unpacked: 16 << 20, document: 3 << 20, documents: 10_000}

// Decode reads the value of the key release in a Secret of the type helm.sh/release.v1: JSON, packed by gzip, in base64.
// (A client has already taken off the Secret's own base64.) The error is ErrTooMuch if there is more than can be read
// safely, and that of the context once it ends.
func Decode(ctx context.Context, data []byte) (Release, error) { return decode(ctx, data, helmLimits) }

// stored is a release as Helm writes it.
type stored struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Info      struct {
		Status string `json:"status"`
	} `json:"info"`
	Manifest string `json:"manifest"`
	Chart    struct {
		Files crdFiles `json:"files"`
	} `json:"chart"`
}

// crdFiles are the files in a chart's folder crds. The others are let go one by one.
type crdFiles []string

// UnmarshalJSON reads a list of files.
func (f *crdFiles) UnmarshalJSON(data []byte) error {
	list := json.NewDecoder(bytes.NewReader(data))
	if open, err := list.Token(); err != nil || open != json.Delim('[') {
		return err // null, for a chart without files
	}
	for list.More() {
		file := struct {
			Name string `json:"name"`
			Data []byte `json:"data"`
		}{}
		if err := list.Decode(&file); err != nil {
			return err
		}
		if strings.HasPrefix(file.Name, "crds/") {
			*f = append(*f, string(file.Data))
		}
	}
	return nil
}

func decode(ctx context.Context, data []byte, most limits) (Release, error) {
	from, err := unpack(data, most.unpacked)
	if err != nil {
		return Release{}, err
	}
	r := Release{
		Namespace: from.Namespace, Name: from.Name, Revision: from.Version, Status: from.Info.Status,
		CRDs: map[string]bool{}, Files: map[string]bool{}, Uses: map[schema.GroupVersionKind]int{},
	}
	budget := most.documents
	manifests, err := heads(ctx, from.Manifest, &budget, most.document)
	if err != nil {
		return Release{}, err
	}
	for _, head := range manifests {
		r.Uses[schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)]++
		if head.isCRD() {
			r.CRDs[head.Metadata.Name] = head.kept()
		}
	}
	for _, file := range from.Chart.Files {
		manifests, err := heads(ctx, file, &budget, most.document)
		if err != nil {
			return Release{}, err
		}
		for _, head := range manifests {
			if head.isCRD() {
				r.Files[head.Metadata.Name] = true
			}
		}
	}
	return r, nil
}

func unpack(data []byte, most int) (from stored, err error) {
	packed, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return from, fmt.Errorf("it is not base64: %w", err)
	}
	unpacked := io.Reader(bytes.NewReader(packed))
	if bytes.HasPrefix(packed, []byte{0x1f, 0x8b, 0x08}) { // Helm once stored releases unpacked
		if unpacked, err = gzip.NewReader(unpacked); err != nil {
			return from, fmt.Errorf("it cannot be unpacked: %w", err)
		}
	}
	limited := &io.LimitedReader{R: unpacked, N: int64(most)}
	if err := json.NewDecoder(limited).Decode(&from); err != nil {
		if limited.N == 0 {
			return from, fmt.Errorf("%w: %d bytes are not all of it", ErrTooMuch, most)
		}
		return from, fmt.Errorf("it is not a release: %w", err)
	}
	return from, nil
}
