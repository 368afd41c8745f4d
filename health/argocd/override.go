package argocd

import (
	engine "github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/health"
)

// Override judges VersionRemovals and CustomResourceDefinitions. Hand it to the
// engine as its HealthOverride.
type Override struct{}

var _ engine.HealthOverride = Override{}

// GetResourceHealth never returns an error. For all other kinds it returns nil,
// which makes the engine ask its own checks.
func (Override) GetResourceHealth(obj *unstructured.Unstructured) (*engine.HealthStatus, error) {
	if obj == nil {
		return nil, nil
	}
	switch kind := obj.GroupVersionKind().GroupKind().String(); kind {
	case "VersionRemoval.moult.dev":
		return translate(health.VersionRemoval(obj.Object)), nil
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return translate(health.CRD(obj.Object)), nil
	default:
		return nil, nil
	}
}

func translate(verdict health.Verdict) *engine.HealthStatus {
	return &engine.HealthStatus{Status: code(verdict.Status), Message: verdict.Message}
}

func code(status health.Status) engine.HealthStatusCode {
	switch status {
	case health.Healthy:
		return engine.HealthStatusHealthy
	case health.Progressing:
		return engine.HealthStatusProgressing
	case health.Degraded:
		return engine.HealthStatusDegraded
	}
	return engine.HealthStatusUnknown
}
