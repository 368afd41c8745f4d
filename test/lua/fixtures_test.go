package judges

import (
	"testing"

	engine "github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/health"
	"github.com/moult-dev/moult/health/argocd"
)

func TestArgoCDSaysWhatTheFixtureSays(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.Kind+"/"+f.Name, func(t *testing.T) {
			g := NewWithT(t)
			want := &engine.HealthStatus{Status: engine.HealthStatusCode(f.Status), Message: f.Message}
			for _, decode := range []func() (map[string]any, error){f.Object, f.ObjectOfFloats} {
				object, err := decode()
				g.Expect(err).NotTo(HaveOccurred())
				for _, openLibs := range []bool{false, true} {
					got, err := inArgoCD(object, openLibs)
					g.Expect(err).NotTo(HaveOccurred(), "open libraries: %v", openLibs)
					g.Expect(got).To(Equal(want), "open libraries: %v", openLibs)
				}
			}
		})
	}
}

func TestTheSyncEngineSaysWhatTheFixtureSays(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.Kind+"/"+f.Name, func(t *testing.T) {
			g := NewWithT(t)
			object, err := f.Object()
			g.Expect(err).NotTo(HaveOccurred())
			got, err := argocd.Override{}.GetResourceHealth(&unstructured.Unstructured{Object: object})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(&engine.HealthStatus{Status: engine.HealthStatusCode(f.Status), Message: f.Message}))
		})
	}
}

func TestFluxWaitsForAGateByItself(t *testing.T) {
	for _, f := range fixtures(t) {
		if f.Kind != gate {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			g := NewWithT(t)
			object, err := f.Object()
			g.Expect(err).NotTo(HaveOccurred())
			if f.KStatus != "" {
				g.Expect(inKStatus(object)).To(Equal(status.Status(f.KStatus)), "what the fixture says of kstatus is out of date")
				return
			}
			g.Expect(meaning(inKStatus(object))).To(Equal(health.Status(f.Status)))
		})
	}
}

func TestFluxWaitsForACRDByExpressions(t *testing.T) {
	for _, f := range fixtures(t) {
		if f.Kind != crd {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			g := NewWithT(t)
			object, err := f.Object()
			g.Expect(err).NotTo(HaveOccurred())
			got, err := inFlux(asServed(object))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(meaning(got)).To(Equal(health.Status(f.Status)))
		})
	}
}

// asServed adds the status that API servers put on every CRD: CEL cannot ask whether a top-level field is there.
func asServed(object map[string]any) map[string]any {
	if _, ok := object["status"]; !ok {
		object["status"] = map[string]any{"conditions": nil}
	}
	return object
}

func TestWithoutAStatusTheExpressionsFailAndFluxGoesOnWaiting(t *testing.T) {
	g := NewWithT(t)
	_, err := inFlux(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": crd, "metadata": map[string]any{}})
	g.Expect(err).To(MatchError(ContainSubstring("no such attribute(s): status")))
}

// Invariant 5: what Moult writes on a CRD never makes Flux wait for it, or call it failed, when it applies the CRD.
func TestMoultsConditionOnACRDIsNothingToKStatus(t *testing.T) {
	established := 0
	for _, f := range fixtures(t) {
		if f.Kind != crd {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			g := NewWithT(t)
			object, err := f.Object()
			g.Expect(err).NotTo(HaveOccurred())
			with := inKStatus(object)
			if with == "Error" {
				return // no API server lets such an object pass
			}
			g.Expect(inKStatus(without(object, "StorageMigrated"))).To(Equal(with))
			if plain := object["metadata"].(map[string]any); has(object, "Established", "True") && plain["deletionTimestamp"] == nil && !has(object, "NamesAccepted", "False") {
				established++
				g.Expect(with).To(Equal(status.CurrentStatus))
			}
		})
	}
	NewWithT(t).Expect(established).To(BeNumerically(">", 15), "hardly any fixture is an established CRD")
}

func conditionsOf(object map[string]any) []any {
	conditions, _, _ := unstructured.NestedFieldNoCopy(object, "status", "conditions")
	list, _ := conditions.([]any)
	return list
}

func has(object map[string]any, conditionType, conditionStatus string) bool {
	for _, item := range conditionsOf(object) {
		if c, ok := item.(map[string]any); ok && c["type"] == conditionType && c["status"] == conditionStatus {
			return true
		}
	}
	return false
}

func without(object map[string]any, conditionType string) map[string]any {
	object = (&unstructured.Unstructured{Object: object}).DeepCopy().Object
	var kept []any
	for _, item := range conditionsOf(object) {
		if c, ok := item.(map[string]any); !ok || c["type"] != conditionType {
			kept = append(kept, item)
		}
	}
	if s, ok := object["status"].(map[string]any); ok {
		s["conditions"] = kept
	}
	return object
}
