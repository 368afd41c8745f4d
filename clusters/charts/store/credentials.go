package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/helmpath"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/moult-dev/moult/policies/unpacking"
)

// configured is a file of Helm's configuration: where an environment variable says, or below its folder.
// https://helm.sh/docs/helm/helm/
func configured(variable string, path ...string) string {
	return cmp.Or(os.Getenv(variable), helmpath.ConfigPath(path...))
}

// knownRepository is one that `helm repo add` has kept.
type knownRepository struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Username string `json:"username"`
	Password string `json:"password"`
	PassAll  bool   `json:"pass_credentials_all"`
}

func repositories() ([]knownRepository, error) {
	content, err := os.ReadFile(configured("HELM_REPOSITORY_CONFIG", "repositories.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file struct {
		Repositories []knownRepository `json:"repositories"`
	}
	if err == nil {
		err = unpacking.Unmarshal(content, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("the repositories of Helm: %w", err)
	}
	return file.Repositories, nil
}

// authorize adds what Helm knows for a repository. Another host gets it only if that was asked for.
func authorize(request *http.Request, repository *url.URL) error {
	all, err := repositories()
	if err != nil {
		return err
	}
	for _, known := range all {
		same := request.URL.Scheme == repository.Scheme && request.URL.Host == repository.Host
		if strings.TrimSuffix(known.URL, "/")+"/" == repository.String() && cmp.Or(known.Username, known.Password) != "" && (same || known.PassAll) {
			request.SetBasicAuth(known.Username, known.Password)
		}
	}
	return nil
}

// registryCredentials are those of `helm registry login`, else those of Docker.
func registryCredentials() auth.CredentialFunc {
	store, err := credentials.NewStore(configured("HELM_REGISTRY_CONFIG", "registry", "config.json"), credentials.StoreOptions{})
	if err != nil {
		return nil
	}
	if docker, err := credentials.NewStoreFromDocker(credentials.StoreOptions{}); err == nil {
		return credentials.Credential(credentials.NewStoreWithFallbacks(store, docker))
	}
	return credentials.Credential(store)
}

// isVersion reports whether a text names one version, and not a range.
func isVersion(text string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
	return err == nil
}
