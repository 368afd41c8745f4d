package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/helmpath"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/policies/unpacking"
)

// cached is the chart from Helm's own cache, nil if it is not there. Charts of several repositories may have one name.
// So only one counts that has the digest which the index of its repository gives, and only for an exact version: an
// index in a cache may be old.
func cached(r charts.Reference) *charts.Chart {
	digest := cachedDigest(r)
	if len(digest) != hex.EncodedLen(sha256.Size) {
		return nil
	}
	for _, file := range []string{
		filepath.Join(cacheFolder("HELM_CONTENT_CACHE", "content"), digest[:2], digest+".chart"), // of Helm 4
		filepath.Join(cacheFolder("HELM_REPOSITORY_CACHE", "repository"), r.Name+"-"+r.Version+".tgz"),
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != digest {
			continue
		}
		if chart, err := charts.Archive(content); err == nil && chart.Name() == r.Name && chart.Version() == r.Version {
			return chart
		}
	}
	return nil
}

// cachedDigest is that of a version in the index which `helm repo update` has kept, empty if there is none.
func cachedDigest(r charts.Reference) string {
	if !isVersion(r.Version) || r.Name != filepath.Base(r.Name) {
		return ""
	}
	known, err := repositories()
	if err != nil {
		return ""
	}
	for _, one := range known {
		if strings.TrimSuffix(one.URL, "/") != strings.TrimSuffix(r.Repository, "/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(cacheFolder("HELM_REPOSITORY_CACHE", "repository"), one.Name+"-index.yaml"))
		if err != nil {
			continue
		}
		var read index
		if unpacking.Unmarshal(content, &read) != nil {
			continue
		}
		for _, e := range read.Entries[r.Name] {
			if e.Version == r.Version {
				return strings.ToLower(strings.TrimPrefix(e.Digest, "sha256:"))
			}
		}
	}
	return ""
}

// cacheFolder is a folder of Helm's cache: where an environment variable says, or below its folder.
func cacheFolder(variable, name string) string {
	return cmp.Or(os.Getenv(variable), helmpath.CachePath(name))
}
