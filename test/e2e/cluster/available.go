package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BecomesAvailable does for a Deployment and the PodDisruptionBudget of its name what their controllers and the kubelets do in a
// cluster with nodes.
func BecomesAvailable(ctx context.Context, c client.Client, namespace, name string) error {
	deployment, err := Get(ctx, c, "apps/v1", "Deployment", namespace, name)
	if err != nil {
		return err
	}
	replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	if err := PatchStatus(ctx, c, deployment, map[string]any{
		"observedGeneration": deployment.GetGeneration(),
		"replicas":           replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "played"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "played"},
		},
	}); err != nil {
		return err
	}
	budget, err := Get(ctx, c, "policy/v1", "PodDisruptionBudget", namespace, name)
	if err != nil {
		return err
	}
	return PatchStatus(ctx, c, budget, map[string]any{
		"observedGeneration": budget.GetGeneration(),
		"expectedPods":       replicas, "currentHealthy": replicas, "desiredHealthy": replicas - 1, "disruptionsAllowed": 1,
		"conditions": []any{map[string]any{
			"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "played",
			"lastTransitionTime": budget.GetCreationTimestamp().UTC().Format(time.RFC3339),
		}},
	})
}
