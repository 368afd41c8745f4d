package argocd

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/e2e/cluster"
)

// AddCluster lets Applications be synced to another cluster, whose address is their destination's server.
func (a *ArgoCD) AddCluster(ctx context.Context, name string, config *rest.Config) error {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	credentials, err := json.Marshal(map[string]any{"bearerToken": config.BearerToken, "tlsClientConfig": map[string]any{"caData": config.CAData}})
	if err != nil {
		return err
	}
	secret := clusterSecret(name)
	secret.SetLabels(map[string]string{"argocd.argoproj.io/secret-type": "cluster"})
	secret.Object["stringData"] = map[string]any{"name": name, "server": config.Host, "config": string(credentials)}
	return cluster.Apply(ctx, a.client, secret)
}

// RemoveCluster makes a cluster unknown, as one that cannot be reached.
func (a *ArgoCD) RemoveCluster(ctx context.Context, name string) error {
	if err := a.client.Delete(ctx, clusterSecret(name)); err != nil {
		return fmt.Errorf("remove cluster %s: %w", name, err)
	}
	return nil
}

func clusterSecret(name string) *unstructured.Unstructured {
	return cluster.Object("v1", "Secret", Namespace, "cluster-"+name)
}
