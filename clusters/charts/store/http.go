package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// Limits of what is fetched.
const (
	largestIndex = 128 << 20
	largestChart = 50 << 20
)

// index is what a Helm repository has.
// https://helm.sh/docs/topics/chart_repository/#the-index-file
type index struct {
	Entries map[string][]entry `json:"entries"`
}

type entry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

// overHTTP fetches a chart from a Helm repository.
func (s *Store) overHTTP(ctx context.Context, r charts.Reference) (*charts.Chart, error) {
	repository, err := url.Parse(strings.TrimSuffix(r.Repository, "/") + "/")
	if err != nil {
		return nil, err
	}
	if err := s.options.Network.AllowOver(repository.Scheme, repository.Host); err != nil {
		return nil, err
	}
	entries, err := s.indexOf(ctx, repository)
	if err != nil {
		return nil, err
	}
	version, err := newest(r.Version, words.Of(entries[r.Name], func(e entry) string { return e.Version }))
	if err != nil {
		return nil, err
	}
	for _, e := range entries[r.Name] {
		if e.Version == version && len(e.URLs) > 0 {
			return s.download(ctx, repository, e)
		}
	}
	return nil, errors.New("its repository has no such version")
}

func (s *Store) download(ctx context.Context, repository *url.URL, e entry) (*charts.Chart, error) {
	at, err := repository.Parse(e.URLs[0])
	if err != nil {
		return nil, err
	}
	if at.Scheme != repository.Scheme || at.Host != repository.Host {
		if err := s.options.Network.AllowRedirect(at); err != nil {
			return nil, err
		}
	}
	content, err := s.get(ctx, repository, at, largestChart)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	if want := strings.TrimPrefix(e.Digest, "sha256:"); want != "" && !strings.EqualFold(want, hex.EncodeToString(sum[:])) {
		return nil, errors.New("it has another digest than its repository says")
	}
	return charts.Archive(content)
}

// indexOf reads the index of a repository, once.
func (s *Store) indexOf(ctx context.Context, repository *url.URL) (map[string][]entry, error) {
	read, err := s.index.Get(repository.String(), func() (read index, err error) {
		content, err := s.get(ctx, repository, repository.JoinPath("index.yaml"), largestIndex)
		if err == nil {
			err = unpacking.Unmarshal(content, &read)
		}
		return read, err
	})
	return read.Entries, err
}

// get asks for a file of a repository, with its credentials.
func (s *Store) get(ctx context.Context, repository, at *url.URL, largest int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := authorize(request, repository); err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", at.Host, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, largest+1))
	if err == nil && int64(len(content)) > largest {
		err = fmt.Errorf("it is larger than %d MiB", largest>>20)
	}
	return content, err
}

// cause is an error, or why there was no more time.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return withoutAddress(err)
}

// withoutAddress is the cause of an error of net/http, whose text has an address that may hold a token.
func withoutAddress(err error) error {
	if at, is := errors.AsType[*url.Error](err); is {
		return at.Err
	}
	return err
}
