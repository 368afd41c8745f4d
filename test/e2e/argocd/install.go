package argocd

import (
	"context"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/cluster"
)

const settingsName = "argocd-cm"

// install applies the part of Argo CD's own installation that its servers cannot start without.
func install(ctx context.Context, c client.Client, source string, settings map[string]string) error {
	if err := cluster.ApplyCRDs(ctx, c, filepath.Join(source, "manifests", "crds", "*-crd.yaml")); err != nil {
		return err
	}
	return cluster.Apply(ctx, c,
		cluster.Object("v1", "Namespace", "", Namespace),
		settingsObject("ConfigMap", settingsName, settings),
		settingsObject("ConfigMap", "argocd-rbac-cm", nil),
		settingsObject("Secret", "argocd-secret", nil),
		anything(),
	)
}

// settingsObject carries the label without which Argo CD does not see it.
func settingsObject(kind, name string, data map[string]string) *unstructured.Unstructured {
	object := cluster.Object("v1", kind, Namespace, name)
	object.SetLabels(map[string]string{"app.kubernetes.io/part-of": "argocd"})
	entries := map[string]any{}
	for key, value := range data {
		entries[key] = value
	}
	if len(entries) > 0 {
		object.Object["data"] = entries
	}
	return object
}

// anything is the project that allows every repository, cluster and kind.
func anything() *unstructured.Unstructured {
	project := cluster.Object("argoproj.io/v1alpha1", "AppProject", Namespace, "default")
	project.Object["spec"] = map[string]any{
		"sourceRepos":              []any{"*"},
		"destinations":             []any{map[string]any{"server": "*", "namespace": "*"}},
		"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
	}
	return project
}

// SetSettings changes entries of argocd-cm and leaves the others; an empty value removes its entry. Argo CD sees it
// within milliseconds, an operation that is already waiting included.
func (a *ArgoCD) SetSettings(ctx context.Context, settings map[string]string) error {
	data := map[string]any{}
	for key, value := range settings {
		data[key] = value
		if value == "" {
			data[key] = nil
		}
	}
	return a.patch(ctx, cluster.Object("v1", "ConfigMap", Namespace, settingsName), map[string]any{"data": data})
}
