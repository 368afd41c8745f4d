package doctor

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
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

// maxRelease bounds what is unpacked, in bytes: a Secret holds 1 MiB, which is a few MiB of text.
const maxRelease = 64 << 20

// Decode reads the value of the key release in a Secret of the type helm.sh/release.v1: JSON, packed by gzip, in base64.
// (A client has already taken off the Secret's own base64.)
func Decode(data []byte) (Release, error) { return decode(data, maxRelease) }

func decode(data []byte, limit int64) (Release, error) {
	packed, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return Release{}, fmt.Errorf("it is not base64: %w", err)
	}
	unpacked := io.Reader(bytes.NewReader(packed))
	if bytes.HasPrefix(packed, []byte{0x1f, 0x8b, 0x08}) { // Helm once stored releases unpacked
		if unpacked, err = gzip.NewReader(unpacked); err != nil {
			return Release{}, fmt.Errorf("it cannot be unpacked: %w", err)
		}
	}
	stored := struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Version   int    `json:"version"`
		Info      struct {
			Status string `json:"status"`
		} `json:"info"`
		Manifest string `json:"manifest"`
		Chart    struct {
			Files []struct {
				Name string `json:"name"`
				Data []byte `json:"data"`
			} `json:"files"`
		} `json:"chart"`
	}{}
	if err := json.NewDecoder(io.LimitReader(unpacked, limit)).Decode(&stored); err != nil {
		return Release{}, fmt.Errorf("it is not a release: %w", err)
	}
	r := Release{
		Namespace: stored.Namespace, Name: stored.Name, Revision: stored.Version, Status: stored.Info.Status,
		CRDs: map[string]bool{}, Files: map[string]bool{}, Uses: map[schema.GroupVersionKind]int{},
	}
	for _, head := range heads(stored.Manifest) {
		r.Uses[schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)]++
		if head.isCRD() {
			r.CRDs[head.Metadata.Name] = head.kept()
		}
	}
	for _, file := range stored.Chart.Files {
		if !strings.HasPrefix(file.Name, "crds/") {
			continue
		}
		for _, head := range heads(string(file.Data)) {
			if head.isCRD() {
				r.Files[head.Metadata.Name] = true
			}
		}
	}
	return r, nil
}

// head is the beginning of a manifest.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// heads are those of all manifests in a stream. What is no manifest is left out, as Helm does when it deletes.
func heads(stream string) (found []head) {
	for _, document := range strings.Split("\n"+stream, "\n---") {
		h := head{}
		if yaml.Unmarshal([]byte(document), &h) == nil && h.Kind != "" {
			found = append(found, h)
		}
	}
	return found
}

func (h head) isCRD() bool {
	return h.Kind == "CustomResourceDefinition" && strings.HasPrefix(h.APIVersion, "apiextensions.k8s.io/")
}

// keep is the annotation that makes an uninstall spare an object.
const keep = "helm.sh/resource-policy"

func (h head) kept() bool { return keeps(h.Metadata.Annotations) }

// keeps reads the annotation as Helm does.
func keeps(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[keep])) == "keep"
}
