package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/moult-dev/moult/clusters/charts"
)

// chartLayer is the media type of a chart in a registry.
// https://helm.sh/docs/topics/registries/#oci-feature-deprecation-and-behavior-changes-with-v380
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// Limits of what a registry may answer with.
const (
	largestManifest = 4 << 20
	mostTags        = 50_000
)

// overOCI fetches a chart from a registry.
func (s *Store) overOCI(ctx context.Context, r charts.Reference) (*charts.Chart, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(r.Repository, "oci://"), "/")
	if r.Name != "" {
		name += "/" + r.Name
	}
	host, _, _ := strings.Cut(name, "/")
	scheme := "https"
	if r.Insecure && !isLoopback(host) {
		scheme = "http"
	}
	if err := s.options.Network.AllowOver(scheme, host); err != nil {
		return nil, err
	}
	repository, err := remote.NewRepository(name)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = r.Insecure || isLoopback(host)
	repository.Client = &auth.Client{Client: s.client, Cache: auth.NewCache(), Credential: registryCredentials()}
	reference := r.Digest
	if reference == "" {
		if reference, err = tag(ctx, repository, r); err != nil {
			return nil, cause(ctx, err)
		}
	}
	packed, err := pull(ctx, repository, reference)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return charts.Archive(packed)
}

// tag is that of the version which is asked for.
func tag(ctx context.Context, repository *remote.Repository, r charts.Reference) (string, error) {
	if r.Tag != "" {
		return r.Tag, nil
	}
	if isVersion(r.Version) {
		return tagOf(r.Version), nil
	}
	var versions []string
	err := repository.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			versions = append(versions, versionOf(tag))
		}
		if len(versions) > mostTags {
			return fmt.Errorf("the registry has more than %d versions", mostTags)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	version, err := newest(r.Version, versions)
	if err == nil && version == "" {
		err = errors.New("its registry has no such version")
	}
	return tagOf(version), err
}

// pull fetches the manifest, and the layer with the chart.
func pull(ctx context.Context, repository *remote.Repository, reference string) ([]byte, error) {
	descriptor, reader, err := repository.FetchReference(ctx, reference)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	if descriptor.Size > largestManifest {
		return nil, errors.New("its manifest is too large")
	}
	raw, err := content.ReadAll(reader, descriptor)
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, err
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != chartLayer {
			continue
		}
		if layer.Size > largestChart {
			return nil, fmt.Errorf("it is larger than %d MiB", largestChart>>20)
		}
		return content.FetchAll(ctx, repository, layer) // it compares the digest
	}
	return nil, errors.New("it is no chart")
}

// isLoopback reports whether a host is this machine, where a registry has no certificate, as a rule.
func isLoopback(host string) bool {
	name := host
	if only, _, err := net.SplitHostPort(host); err == nil {
		name = only
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
