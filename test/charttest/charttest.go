// Package charttest has charts, a Helm repository and an OCI registry for tests, on this machine.
package charttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Chart is a chart, by the paths of its files.
type Chart map[string]string

// Of is a chart of a name and a version with more files.
func Of(name, version string, files map[string]string) Chart {
	c := Chart{"Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)}
	maps.Copy(c, files)
	return c
}

// Packed is the chart as .tgz.
func (c Chart) Packed(t *testing.T) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(c)) {
		err := archive.WriteHeader(&tar.Header{Name: "chart/" + name, Mode: 0o600, Size: int64(len(c[name]))})
		if err == nil {
			_, err = archive.Write([]byte(c[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Repository serves charts over HTTP, by their versions, and says to asked which paths were asked for.
func Repository(t *testing.T, name string, versions map[string]Chart, asked func(*http.Request) bool) *httptest.Server {
	t.Helper()
	index := "apiVersion: v1\nentries:\n  " + name + ":\n"
	files := map[string][]byte{}
	for version, chart := range versions {
		packed := chart.Packed(t)
		sum := sha256.Sum256(packed)
		files["/charts/"+name+"-"+version+".tgz"] = packed
		index += fmt.Sprintf("  - {name: %s, version: %s, digest: %s, urls: [%s-%s.tgz]}\n", name, version, hex.EncodeToString(sum[:]), name, version)
	}
	files["/charts/index.yaml"] = []byte(index)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, there := files[r.URL.Path]
		switch {
		case asked != nil && !asked(r):
			w.WriteHeader(http.StatusUnauthorized)
		case !there:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// Registry serves charts over OCI, below the name charts/NAME.
func Registry(t *testing.T, name string, versions map[string]Chart, asked func(*http.Request) bool) *httptest.Server {
	t.Helper()
	contents, kinds, tags := map[string][]byte{}, map[string]string{}, []string{}
	put := func(kind string, content []byte) map[string]any {
		sum := sha256.Sum256(content)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		contents[digest], kinds[digest] = content, kind
		return map[string]any{"mediaType": kind, "digest": digest, "size": len(content)}
	}
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	for version, chart := range versions {
		content, err := json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": manifest, "config": put("application/vnd.cncf.helm.config.v1+json", []byte("{}")),
			"layers": []any{put("application/vnd.cncf.helm.chart.content.v1.tar+gzip", chart.Packed(t))},
		})
		if err != nil {
			t.Fatal(err)
		}
		tag := strings.ReplaceAll(version, "+", "_")
		put(manifest, content)
		contents[tag], kinds[tag], tags = content, manifest, append(tags, tag)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reference := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		content, there := contents[reference]
		switch {
		case asked != nil && !asked(r):
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/tags/list"):
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "charts/" + name, "tags": tags})
		case !there || !strings.HasPrefix(r.URL.Path, "/v2/charts/"+name+"/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			sum := sha256.Sum256(content)
			w.Header().Set("Docker-Content-Digest", "sha256:"+hex.EncodeToString(sum[:]))
			w.Header().Set("Content-Type", kinds[reference])
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			if r.Method != http.MethodHead {
				_, _ = w.Write(content)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}
