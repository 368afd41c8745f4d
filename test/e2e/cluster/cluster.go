// Package cluster prepares a control plane for the servers of an end-to-end test: a client that knows no types, a
// kubeconfig file, manifests applied from files, CRDs that are ready to be used.
package cluster

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is who applies in these tests.
const FieldManager = "moult-e2e"

// NewClient reads and writes unstructured objects, straight from the API server. Kinds that appear later, with a CRD,
// are found when they are first asked for.
func NewClient(config *rest.Config) (client.Client, error) {
	return client.New(config, client.Options{Scheme: runtime.NewScheme()})
}

// Object is an empty object of that kind, to be read into or filled. apiVersion is "v1" or "group/version".
func Object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// Get reads one object.
func Get(ctx context.Context, c client.Client, apiVersion, kind, namespace, name string) (*unstructured.Unstructured, error) {
	object := Object(apiVersion, kind, namespace, name)
	return object, c.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// WriteKubeconfig makes the same credentials usable by another process. The file is readable by its owner only.
func WriteKubeconfig(config *rest.Config, path string) error {
	return WriteKubeconfigs(map[string]*rest.Config{"moult-e2e": config}, path)
}

// WriteKubeconfigs is WriteKubeconfig with a context for each cluster. If there is one, it is the current one.
func WriteKubeconfigs(clusters map[string]*rest.Config, path string) error {
	kubeconfig := api.NewConfig()
	for name, config := range clusters {
		if len(clusters) == 1 {
			kubeconfig.CurrentContext = name
		}
		kubeconfig.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
		kubeconfig.Clusters[name] = &api.Cluster{
			Server:                   config.Host,
			TLSServerName:            config.ServerName,
			InsecureSkipTLSVerify:    config.Insecure,
			CertificateAuthority:     config.CAFile,
			CertificateAuthorityData: config.CAData,
		}
		kubeconfig.AuthInfos[name] = &api.AuthInfo{
			ClientCertificate:     config.CertFile,
			ClientCertificateData: config.CertData,
			ClientKey:             config.KeyFile,
			ClientKeyData:         config.KeyData,
			Token:                 config.BearerToken,
			TokenFile:             config.BearerTokenFile,
			Username:              config.Username,
			Password:              config.Password,
		}
	}
	content, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return os.WriteFile(path, content, 0o600)
}
