package flux

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/cluster"
)

const (
	sourceAPI  = "source.toolkit.fluxcd.io/v1"
	sourceKind = "GitRepository"
)

// Source is a GitRepository object whose content comes from the test.
type Source struct {
	flux   *Flux
	name   string
	files  map[string][]byte
	pushes int
}

// NewSource creates the GitRepository. It has nothing to offer before the first Push.
func (f *Flux) NewSource(ctx context.Context, name string) (*Source, error) {
	repository := cluster.Object(sourceAPI, sourceKind, Namespace, name)
	repository.Object["spec"] = map[string]any{
		"url":      "https://git.example.invalid/" + name, // wanted by the schema, read by nobody
		"interval": "1h",
		"ref":      map[string]any{"branch": "main"},
	}
	if err := f.client.Create(ctx, repository); err != nil {
		return nil, fmt.Errorf("create GitRepository %s: %w", name, err)
	}
	return &Source{flux: f, name: name, files: map[string][]byte{}}, nil
}

// Delete removes the GitRepository. Its name may be used again.
func (s *Source) Delete(ctx context.Context) error {
	return s.flux.client.Delete(ctx, cluster.Object(sourceAPI, sourceKind, Namespace, s.name))
}

// Push writes the files, named by their path in the repository, and offers the whole as a new revision, which it
// returns. A file with empty content is removed; files not named stay. Flux reacts within 50 ms.
func (s *Source) Push(ctx context.Context, files map[string]string) (revision string, err error) {
	for name, content := range files {
		if content == "" {
			delete(s.files, name)
			continue
		}
		s.files[name] = []byte(content)
	}
	return s.publish(ctx)
}

// PushFolder makes the source's content exactly that of a folder and returns the new revision.
func (s *Source) PushFolder(ctx context.Context, folder string) (revision string, err error) {
	clear(s.files)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		s.files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read source %s from %s: %w", s.name, folder, err)
	}
	return s.publish(ctx)
}

func (s *Source) publish(ctx context.Context) (string, error) {
	archive, err := pack(s.files)
	if err != nil {
		return "", err
	}
	s.pushes++ // counts for the revision, because a second commit of the same content has another id as well
	commit := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%s %d %x", s.name, s.pushes, sha1.Sum(archive))))
	path := fmt.Sprintf("gitrepository/%s/%s/%s.tar.gz", Namespace, s.name, commit)
	s.flux.archives.add("/"+path, archive)

	revision := "main@sha1:" + commit
	now := time.Now().UTC().Format(time.RFC3339)
	status := map[string]any{
		"observedGeneration": 1, // the spec is never changed
		"artifact": map[string]any{
			"url":            s.flux.server.URL + "/" + path,
			"path":           path,
			"revision":       revision,
			"digest":         fmt.Sprintf("sha256:%x", sha256.Sum256(archive)),
			"size":           len(archive),
			"lastUpdateTime": now,
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "observedGeneration": 1,
			"message": "stored artifact for revision '" + revision + "'", "lastTransitionTime": now,
		}},
	}
	content, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return "", err
	}
	repository := cluster.Object(sourceAPI, sourceKind, Namespace, s.name)
	if err := s.flux.client.Status().Patch(ctx, repository, client.RawPatch(types.MergePatchType, content)); err != nil {
		return "", fmt.Errorf("offer %s of GitRepository %s: %w", revision, s.name, err)
	}
	return revision, nil
}

// pack makes a gzipped tar archive, the same bytes for the same files.
func pack(files map[string][]byte) ([]byte, error) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	writer := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}

// archives serves what was packed. Old revisions stay, since a Kustomization may be at work on one.
type archives struct{ content sync.Map }

func (a *archives) add(path string, archive []byte) { a.content.Store(path, archive) }

func (a *archives) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	archive, found := a.content.Load(r.URL.Path)
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(archive.([]byte)) // the reader fetches again when it went away
}
